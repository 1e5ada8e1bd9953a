// Formats a tree as cel-go's debug output, for comparisons.

import type { Expression } from '../ast.ts';
import { formatDouble } from '../standard/double-text.ts';
import { quote } from '#machinery/text/go-format.ts';
import { Double, Uint, type Value } from '../values.ts';

const indent = (text: string): string => text.replaceAll('\n', '\n  ');

function block(open: string, items: readonly string[], close: string): string {
  if (items.length === 0) return open + close;
  return `${open}${indent(`\n${items.join(',\n')}`)}\n${close}`;
}

function literal(value: Value): string {
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Double) return formatDouble(value.value);
  if (value instanceof Uint8Array) return `b${quoteBytes(value)}`;
  return typeof value === 'string' ? quote(value) : String(value);
}

/** Quotes bytes. Bytes that are not UTF-8 are escaped one by one. */
function quoteBytes(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  if (!text.includes('\ufffd')) return quote(text);
  const hex = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`;
  const parts = [...bytes].map((byte) =>
    byte < 0x80 ? quote(String.fromCodePoint(byte)).slice(1, -1) : hex(byte),
  );
  return `"${parts.join('')}"`;
}

export function toDebugString(node: Expression): string {
  switch (node.kind) {
    case 'literal':
      return literal(node.value);
    case 'identifier':
      return node.name;
    case 'select':
      return `${toDebugString(node.operand)}.${node.field}${node.testOnly ? '~test-only~' : ''}`;
    case 'call': {
      const target = node.target === undefined ? '' : `${toDebugString(node.target)}.`;
      return `${target}${block(`${node.function}(`, node.arguments.map(toDebugString), ')')}`;
    }
    case 'list':
      return block('[', node.elements.map(toDebugString), ']');
    case 'map':
      return block(
        '{',
        node.entries.map(
          ({ key, value, optional }) =>
            `${optional ? '?' : ''}${toDebugString(key)}:${toDebugString(value)}`,
        ),
        '}',
      );
    case 'struct':
      return block(
        `${node.type}{`,
        node.fields.map(
          ({ field, value, optional }) => `${optional ? '?' : ''}${field}:${toDebugString(value)}`,
        ),
        '}',
      );
    case 'comprehension': {
      const parts: [string, string][] = [
        ['Variable', node.variable],
        ['Target', toDebugString(node.range)],
        ['Accumulator', node.accumulator],
        ['Init', toDebugString(node.init)],
        ['LoopCondition', toDebugString(node.condition)],
        ['LoopStep', toDebugString(node.step)],
        ['Result', toDebugString(node.result)],
      ];
      const lines = parts.map(([name, text]) => `\n// ${name}\n${text}`);
      return `__comprehension__(${indent(lines.join(','))})`;
    }
  }
}
