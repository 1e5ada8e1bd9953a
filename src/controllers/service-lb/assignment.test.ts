import { expect, test } from 'vitest';
import { assign, type Wish } from './assignment.ts';

const wish = (key: string, port: number, eligible: string, held = ''): Wish => ({
  key,
  ports: [`TCP/${port}`],
  eligible: [...eligible],
  held: [...held],
});

test.each<[string, Wish[], Record<string, string>]>([
  ['one gets what there is', [wish('a', 80, 'xy')], { a: 'xy' }],
  ['a service gets no more addresses than it may have', [wish('a', 80, 'wxyz')], { a: 'wxy' }],
  ['other ports share addresses', [wish('a', 80, 'xy'), wish('b', 81, 'xy')], { a: 'xy', b: 'xy' }],
  ['the first gets the port', [wish('a', 80, 'xy'), wish('b', 80, 'xy')], { a: 'xy' }],
  [
    'a service keeps its address',
    [wish('a', 80, 'xy'), wish('b', 80, 'xy', 'y')],
    { a: 'x', b: 'y' },
  ],
  [
    'a service does not keep an address that it may not have',
    [wish('a', 80, 'xy', 'z')],
    { a: 'xy' },
  ],
  ['held addresses come first', [wish('a', 80, 'xyz', 'z')], { a: 'zxy' }],
  ['ports of other listeners are not given', [wish('a', 6443, 'xy')], { a: 'y' }],
  ['no nodes, no address', [wish('a', 80, '')], {}],
])('%s', (_, wishes, expected) => {
  const given = assign(wishes, new Set(['x TCP/6443']), 3);
  expect(
    Object.fromEntries([...given].map(([key, addresses]) => [key, addresses.join('')])),
  ).toEqual(expected);
});

test('every port of the service must be free', () => {
  const both = { ...wish('b', 80, 'x'), ports: ['TCP/80', 'TCP/443'] };
  expect(assign([wish('a', 443, 'x'), both], new Set(), 3).has('b')).toBe(false);
  expect(
    assign([{ ...wish('a', 443, 'x'), ports: ['UDP/443'] }, both], new Set(), 3).get('b'),
  ).toEqual(['x']);
});
