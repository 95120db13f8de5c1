// Maps acorn's ESTree to rarename's nodes, by code that shares nothing with the package.
//
//   node to_record.mjs FOLDER < names-of-files > one-JSON-object-per-line
//
// FOLDER holds node_modules with acorn and acorn-jsx. Each line of the output is
// {"file", "nodes": [[type, value or null, parent], …]} or {"file", "error"}.

import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";

const require = createRequire(path.resolve(process.argv[2], "package.json"));
const acorn = require("acorn");
const withJsx = acorn.Parser.extend(require("acorn-jsx")());

const options = { ecmaVersion: "latest", allowHashBang: true, allowReturnOutsideFunction: true };
const attempts = [
  [acorn.Parser, "script"],
  [acorn.Parser, "module"],
  [withJsx, "module"],
];

function parse(text) {
  let first;
  for (const [parser, sourceType] of attempts) {
    try {
      return parser.parse(text, { ...options, sourceType });
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}

const filling = { type: "EmptyStatement" };
const wellFormed = (text) => text.toWellFormed();

function literal(node) {
  if (node.regex) {
    const flags = [...node.regex.flags].sort().join("");
    return ["LiteralRegExp", `/${node.regex.pattern}/${flags}`, []];
  }
  if (node.bigint !== undefined) return ["LiteralBigInt", String(BigInt(node.bigint)), []];
  if (node.value === null) return ["LiteralNull", "null", []];
  const kind = typeof node.value;
  return [`Literal${kind[0].toUpperCase()}${kind.slice(1)}`, wellFormed(String(node.value)), []];
}

// A node that carries its key as its value, unless the key is computed.
function keyed(type, node, children) {
  if (node.computed) return [type, null, [node.key, ...children]];
  const { key } = node;
  if (key.type === "Identifier" || key.type === "PrivateIdentifier") return [type, key.name, children];
  return [type, literal(key)[1], children];
}

function sameName(a, b) {
  return a.start === b.start;
}

// [type, value, children] of one ESTree node; null and undefined children are dropped by the caller.
const rules = {
  Literal: literal,
  Identifier: (n) => ["Identifier", n.name, []],
  PrivateIdentifier: (n) => ["PrivateIdentifier", n.name, []],
  Program: (n) => ["Program", null, n.body],
  BlockStatement: (n) => ["BlockStatement", null, n.body],
  StaticBlock: (n) => ["StaticBlock", null, n.body],
  EmptyStatement: () => ["EmptyStatement", null, []],
  DebuggerStatement: () => ["DebuggerStatement", null, []],
  ExpressionStatement: (n) => ["ExpressionStatement", null, [n.expression]],
  IfStatement: (n) => ["IfStatement", null, [n.test, n.consequent, n.alternate]],
  LabeledStatement: (n) => ["LabeledStatement", null, [n.body]],
  BreakStatement: () => ["BreakStatement", null, []],
  ContinueStatement: () => ["ContinueStatement", null, []],
  WithStatement: (n) => ["WithStatement", null, [n.object, n.body]],
  SwitchStatement: (n) => ["SwitchStatement", null, [n.discriminant, ...n.cases]],
  SwitchCase: (n) => ["SwitchCase", null, [n.test, { type: "BlockStatement", body: n.consequent }]],
  ReturnStatement: (n) => ["ReturnStatement", null, [n.argument]],
  ThrowStatement: (n) => ["ThrowStatement", null, [n.argument]],
  TryStatement: (n) => ["TryStatement", null, [n.block, n.handler, n.finalizer ?? filling]],
  CatchClause: (n) => ["CatchClause", null, [n.param, n.body]],
  WhileStatement: (n) => ["WhileStatement", null, [n.test, n.body]],
  DoWhileStatement: (n) => ["DoWhileStatement", null, [n.body, n.test]],
  ForStatement: (n) => [
    "ForStatement",
    null,
    [n.init ?? filling, n.test ?? filling, n.update ?? filling, n.body],
  ],
  ForInStatement: (n) => ["ForInStatement", null, [n.left, n.right, n.body]],
  ForOfStatement: (n) => ["ForOfStatement", null, [n.left, n.right, n.body]],
  VariableDeclaration: (n) => ["VariableDeclaration", null, n.declarations],
  VariableDeclarator: (n) =>
    n.id.type === "Identifier"
      ? ["VariableDeclarator", n.id.name, [n.init]]
      : ["VariableDeclarator", null, [n.id, n.init]],
  FunctionDeclaration: (n) => ["FunctionDeclaration", null, [n.id ?? filling, ...n.params, n.body]],
  FunctionExpression: (n) => ["FunctionExpression", null, [...n.params, n.body]],
  ArrowFunctionExpression: (n) => ["ArrowFunctionExpression", null, [...n.params, n.body]],
  ClassDeclaration: (n) => ["ClassDeclaration", null, [n.id ?? filling, n.superClass, n.body]],
  ClassExpression: (n) => ["ClassExpression", null, [n.id ?? filling, n.superClass, n.body]],
  ClassBody: (n) => ["ClassBody", null, n.body],
  MethodDefinition: (n) => keyed("MethodDefinition", n, [n.value]),
  PropertyDefinition: (n) => keyed("PropertyDefinition", n, [n.value]),
  Property: (n) => keyed("Property", n, [n.value]),
  ThisExpression: () => ["ThisExpression", null, []],
  Super: () => ["Super", null, []],
  ArrayExpression: (n) => ["ArrayExpression", null, n.elements],
  ObjectExpression: (n) => ["ObjectExpression", null, n.properties],
  ArrayPattern: (n) => ["ArrayPattern", null, n.elements],
  ObjectPattern: (n) => ["ObjectPattern", null, n.properties],
  RestElement: (n) => ["RestElement", null, [n.argument]],
  SpreadElement: (n) => ["SpreadElement", null, [n.argument]],
  AssignmentPattern: (n) => ["AssignmentPattern", null, [n.left, n.right]],
  UnaryExpression: (n) => ["UnaryExpression", n.operator, [n.argument]],
  UpdateExpression: (n) => [
    "UpdateExpression",
    n.prefix ? n.operator + "?" : "?" + n.operator,
    [n.argument],
  ],
  BinaryExpression: (n) => ["BinaryExpression", n.operator, [n.left, n.right]],
  LogicalExpression: (n) => ["LogicalExpression", n.operator, [n.left, n.right]],
  AssignmentExpression: (n) => ["AssignmentExpression", null, [n.left, n.right]],
  ConditionalExpression: (n) => ["ConditionalExpression", null, [n.test, n.consequent, n.alternate]],
  CallExpression: (n) => ["CallExpression", null, [n.callee, ...n.arguments]],
  NewExpression: (n) => ["NewExpression", null, [n.callee, ...n.arguments]],
  ImportExpression: (n) => ["ImportExpression", null, [n.source, n.options]],
  ChainExpression: (n) => ["ChainExpression", null, [n.expression]],
  MemberExpression: (n) => {
    const isName = n.property.type === "Identifier";
    const property = isName ? { type: "AccessedName", name: n.property.name } : n.property;
    return [n.computed ? "ArrayAccess" : "MemberExpression", null, [n.object, property]];
  },
  AccessedName: (n) => ["Property", n.name, []],
  SequenceExpression: (n) => ["SequenceExpression", null, n.expressions],
  YieldExpression: (n) => ["YieldExpression", null, [n.argument]],
  AwaitExpression: (n) => ["AwaitExpression", null, [n.argument]],
  MetaProperty: (n) => ["MetaProperty", `${n.meta.name}.${n.property.name}`, []],
  TaggedTemplateExpression: (n) => ["TaggedTemplateExpression", null, [n.tag, n.quasi]],
  TemplateElement: (n) => ["TemplateElement", wellFormed(n.value.cooked ?? n.value.raw), []],
  TemplateLiteral: (n) => [
    "TemplateLiteral",
    null,
    n.quasis.flatMap((quasi, i) => [quasi, n.expressions[i]]),
  ],
  ImportDeclaration: (n) => ["ImportDeclaration", null, [...n.specifiers, n.source, ...(n.attributes ?? [])]],
  ImportAttribute: (n) => keyed("ImportAttribute", n, [n.value]),
  ImportDefaultSpecifier: (n) => ["ImportDefaultSpecifier", null, [n.local]],
  ImportNamespaceSpecifier: (n) => ["ImportNamespaceSpecifier", null, [n.local]],
  ImportSpecifier: (n) => [
    "ImportSpecifier",
    null,
    sameName(n.imported, n.local) ? [n.local] : [n.imported, n.local],
  ],
  ExportSpecifier: (n) => [
    "ExportSpecifier",
    null,
    sameName(n.local, n.exported) ? [n.local] : [n.local, n.exported],
  ],
  ExportDefaultDeclaration: (n) => ["ExportDefaultDeclaration", null, [n.declaration]],
  ExportNamedDeclaration: (n) => [
    "ExportNamedDeclaration",
    null,
    [n.declaration, ...n.specifiers, n.source, ...(n.attributes ?? [])],
  ],
  ExportAllDeclaration: (n) => [
    "ExportAllDeclaration",
    null,
    [n.exported, n.source, ...(n.attributes ?? [])],
  ],
  JSXElement: (n) => ["JSXElement", null, [n.openingElement, ...n.children, n.closingElement]],
  JSXFragment: (n) => ["JSXFragment", null, [n.openingFragment, ...n.children, n.closingFragment]],
  JSXOpeningElement: (n) => ["JSXOpeningElement", null, [n.name, ...n.attributes]],
  JSXClosingElement: (n) => ["JSXClosingElement", null, [n.name]],
  JSXOpeningFragment: () => ["JSXOpeningFragment", null, []],
  JSXClosingFragment: () => ["JSXClosingFragment", null, []],
  JSXIdentifier: (n) => ["JSXIdentifier", n.name, []],
  JSXMemberExpression: (n) => ["JSXMemberExpression", null, [n.object, n.property]],
  JSXNamespacedName: (n) => ["JSXNamespacedName", null, [n.namespace, n.name]],
  JSXAttribute: (n) => ["JSXAttribute", null, [n.name, n.value && jsxValue(n.value)]],
  JSXSpreadAttribute: (n) => ["JSXSpreadAttribute", null, [n.argument]],
  JSXSpreadChild: (n) => ["JSXSpreadChild", null, [n.expression]],
  JSXExpressionContainer: (n) => ["JSXExpressionContainer", null, [n.expression]],
  JSXEmptyExpression: () => ["JSXEmptyExpression", null, []],
  JSXText: (n) => (n.raw.trim() || !n.raw.includes("\n") ? ["JSXText", n.raw, []] : null),
};

function jsxValue(node) {
  return node.type === "Literal" ? { type: "JSXString", raw: node.raw } : node;
}
rules.JSXString = (n) => ["LiteralString", n.raw.slice(1, -1), []];

function nodesOf(program) {
  const nodes = [];
  const stack = [[program, -1]];
  while (stack.length) {
    const [node, parent] = stack.pop();
    const rule = rules[node.type];
    if (!rule) throw new Error(`no rule for ${node.type}`);
    const written = rule(node);
    if (!written) continue;
    const [type, value, children] = written;
    const index = nodes.push([type, value, parent]) - 1;
    for (let i = children.length - 1; i >= 0; i--) if (children[i]) stack.push([children[i], index]);
  }
  return nodes;
}

for (const file of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  let line;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(fs.readFileSync(file));
    line = { file, nodes: nodesOf(parse(text)) };
  } catch (error) {
    line = { file, error: String(error.message) };
  }
  fs.writeSync(1, JSON.stringify(line) + "\n");
}
