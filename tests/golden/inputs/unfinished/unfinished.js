// A file that somebody is still writing.
import { request } from './http';

export async function loadUser(userId, options = {}) {
  const response = await request(`/users/${userId}`, options);
  if (!response.ok) {
    throw new Error(userId + ": " + resp
  }
  return response.json();
}

const render = (users, container) => {
  users.forEach((user, index) => {
    const row = document.createElement('tr');
    row.dataset.index = index;
    container.appendChild(
  });

function later(callback, delay) {
  return setTimeout(callback,
