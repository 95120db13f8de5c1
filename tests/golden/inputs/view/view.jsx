import React, { useState, useEffect as onChange } from 'react';
import * as icons from './icons';

export const Price = ({ cents, currency = 'EUR' }) => <b className="price">{(cents / 100).toFixed(2)}&nbsp;{currency}</b>;

export default function CartView({ cart, onRemove, ...props }) {
  const [filter, setFilter] = useState('');
  const [selected, setSelected] = useState(null);

  onChange(() => {
    const timer = setTimeout(() => setSelected(null), 5000);
    return () => clearTimeout(timer);
  }, [selected]);

  const visible = cart.items.filter((item) => item.name.includes(filter));

  function handleChange(event) {
    setFilter(event.target.value);
  }

  return (
    <>
      {/* the search field */}
      <input type="search" value={filter} onChange={handleChange} disabled {...props} />
      {visible.length === 0 && <p>Nothing matches “{filter}”.</p>}
      <ul data-count={visible.length} style={{ color: 'red' }}>
        {visible.map((item, index) => (
          <li key={item.sku} onClick={() => setSelected(index)} className={index === selected ? 'on' : undefined}>
            <icons.Box size={16} /> {item.name} <Price cents={item.price} />
            <button onClick={(event) => { event.stopPropagation(); onRemove(item); }}>×</button>
          </li>
        ))}
      </ul>
      <svg:rect xlink:href="#a" />
    </>
  );
}

export class Boundary extends React.Component {
  state = { error: null };

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    const { children, fallback } = this.props;
    return this.state.error ? fallback : children;
  }
}
