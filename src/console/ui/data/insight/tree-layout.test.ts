import { expect, test } from 'vitest';
import { layoutTree, type TreeNode } from './tree-layout.ts';

const node = (value: string, ...children: TreeNode<string>[]): TreeNode<string> => ({
  value,
  children,
});

test('a parent is in the middle of its children', () => {
  const placed = layoutTree(node('a', node('b', node('d'), node('e')), node('c')), 100);
  expect(placed.map(({ value, column, row }) => [value, column, row])).toEqual([
    ['a', 0, 1.25],
    ['b', 1, 0.5],
    ['d', 2, 0],
    ['e', 2, 1],
    ['c', 1, 2],
  ]);
  expect(placed[2]?.parent).toBe(placed[1]?.id);
});

test('the number of nodes is bounded', () => {
  const wide = node('root', ...Array.from({ length: 500 }, (_, index) => node(String(index))));
  expect(layoutTree(wide, 50)).toHaveLength(50);
});
