import { expect, test } from 'vitest';
import { withTable } from './document.ts';

const document = (...sections: string[]): string =>
  `before\n\n<!-- table: begin -->\n${sections.join('\n\n')}\n<!-- table: end -->\n\nafter\n`;

test('a table replaces that of the same major version', () => {
  const text = document('Node 20.19:\n\n| a |\n| b |', 'Node 26.1:\n\n| c |');
  expect(withTable(text, '20.20', '| d |')).toBe(
    document('Node 20.20:\n\n| d |', 'Node 26.1:\n\n| c |'),
  );
  expect(withTable(text, '26.12', '| d |')).toBe(
    document('Node 20.19:\n\n| a |\n| b |', 'Node 26.12:\n\n| d |'),
  );
});

test('the table of another version follows the others', () => {
  expect(withTable(document('Node 20.20:\n\n| a |'), '2.0', '| b |')).toBe(
    document('Node 20.20:\n\n| a |', 'Node 2.0:\n\n| b |'),
  );
});

test('a document without a place for it is an error', () => {
  expect(() => withTable('text', '20.20', '| a |')).toThrow('no place');
});
