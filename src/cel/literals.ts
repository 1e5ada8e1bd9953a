// Literals that can only fail when they are evaluated are told when the expression is compiled: durations, timestamps, patterns.

import type { Call, Expression } from './ast.ts';
import { EvaluationError, type Issue } from './errors.ts';
import { compileRegex } from './standard/strings.ts';
import { parseDuration, parseTimestamp } from './standard/time-text.ts';

const READERS: Readonly<Record<string, { readonly member: boolean; readonly read: (text: string) => unknown }>> = {
  duration: { member: false, read: parseDuration },
  timestamp: { member: false, read: parseTimestamp },
  matches: { member: true, read: compileRegex },
};

export function checkLiterals(root: Expression): Issue[] {
  const issues: Issue[] = [];
  // Macros use some trees twice.
  const seen = new Set<Expression>();
  const visit = (node: Expression): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === 'call') checkCall(node, issues);
    for (const child of childrenOf(node)) visit(child);
  };
  visit(root);
  return issues;
}

function checkCall(node: Call, issues: Issue[]): void {
  const reader = Object.hasOwn(READERS, node.function) ? READERS[node.function] : undefined;
  const [argument] = node.arguments;
  if (reader === undefined || reader.member !== (node.target !== undefined)) return;
  if (argument?.kind !== 'literal' || typeof argument.value !== 'string') return;
  try {
    reader.read(argument.value);
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    issues.push({ offset: argument.offset, message: `invalid ${node.function} argument` });
  }
}

export function childrenOf(node: Expression): readonly Expression[] {
  switch (node.kind) {
    case 'literal':
    case 'identifier':
      return [];
    case 'select':
      return [node.operand];
    case 'call':
      return node.target === undefined ? node.arguments : [node.target, ...node.arguments];
    case 'list':
      return node.elements;
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return node.fields.map(({ value }) => value);
    case 'comprehension':
      return [node.range, node.init, node.condition, node.step, node.result];
  }
}
