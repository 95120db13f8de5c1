-- A session in Neovim: a diagnostic, its code action, a completion. Writes what was seen as JSON; test_lsp.py reads it.
local result = vim.env.RARENAME_RESULT
local seen = {}

local function finish()
  vim.fn.writefile({ vim.fn.json_encode(seen) }, result)
  vim.cmd("qall!")
end

vim.wait(100000, function() return #vim.diagnostic.get(0) > 0 end)
seen.diagnostics = vim.diagnostic.get(0)
if #seen.diagnostics == 0 then return finish() end

vim.ui.select = function(items, _, choose) choose(items[1]) end
vim.api.nvim_win_set_cursor(0, { seen.diagnostics[1].lnum + 1, seen.diagnostics[1].col })
local before = vim.api.nvim_buf_get_changedtick(0)
vim.lsp.buf.code_action()
vim.wait(30000, function() return vim.api.nvim_buf_get_changedtick(0) > before end)
seen.lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)

-- The key codes are typed after this script, so that the reply comes in insert mode.
vim.o.completeopt = "menuone,noselect"
local function type_keys(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), "n", false)
end

type_keys("Go    return wi<C-x><C-o>")
local tries = 0
vim.fn.timer_start(50, function()
  tries = tries + 1
  if tries % 200 == 0 then type_keys("<C-x><C-o>") end -- on a busy machine the reply may have come too late
  seen.completed = vim.tbl_map(function(item) return item.word end, vim.fn.complete_info({ "items" }).items)
  if #seen.completed > 0 or tries > 600 then finish() end
end, { ["repeat"] = -1 })
