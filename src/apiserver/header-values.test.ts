import { expect, test } from 'vitest';

import { headerTexts, headerValues, type SentHeaders } from './header-values.ts';

const sent = Buffer.from('jürgen', 'utf8').toString('latin1');
const overTheWire: SentHeaders = {
  headers: { 'x-remote-user': sent, 'x-remote-group': 'a,b, c' },
  rawHeaders: ['X-Remote-User', sent, 'X-Remote-Group', 'a,b', 'x-remote-group', 'c'],
};
const inProcess: SentHeaders = { headers: { 'x-remote-user': 'jürgen', accept: undefined } };

test('each value of a repeated header is one value, whatever commas it has', () => {
  expect([...headerValues(overTheWire)]).toEqual([
    ['x-remote-user', sent],
    ['x-remote-group', 'a,b'],
    ['x-remote-group', 'c'],
  ]);
  expect([...headerValues(inProcess)]).toEqual([['x-remote-user', 'jürgen']]);
});

test('texts are decoded only if they were sent', () => {
  const isUser = (name: string): boolean => name === 'x-remote-user';
  expect([...headerTexts(overTheWire, isUser)]).toEqual([['x-remote-user', 'jürgen']]);
  expect([...headerTexts(inProcess)]).toEqual([['x-remote-user', 'jürgen']]);
});
