import { expect, test } from 'vitest';
import { nextTurn } from '#machinery/turn.ts';
import { WatchTurns } from './watch-turns.ts';

test('few watchers run in this turn of the event loop, after the current work', async () => {
  const turns = new WatchTurns(3);
  const ran: number[] = [];
  for (const i of [1, 2, 3]) turns.add({ run: () => ran.push(i) });
  expect(ran).toEqual([]);
  await Promise.resolve();
  expect(ran).toEqual([1, 2, 3]);
});

test('many watchers run in turns, in order, and other work runs between them', async () => {
  const turns = new WatchTurns(2);
  const ran: number[] = [];
  for (const i of [1, 2, 3, 4, 5]) turns.add({ run: () => ran.push(i) });
  await Promise.resolve();
  expect(ran).toEqual([1, 2]);
  await nextTurn();
  expect(ran).toEqual([1, 2, 3, 4]);
  await nextTurn();
  expect(ran).toEqual([1, 2, 3, 4, 5]);
});

test('a watcher that asks for another turn in its turn goes to the end', async () => {
  const turns = new WatchTurns(2);
  const ran: string[] = [];
  let again = 2;
  const busy = {
    run: (): void => {
      ran.push('busy');
      if (again-- > 0) turns.add(busy);
    },
  };
  turns.add(busy);
  turns.add({ run: () => ran.push('other') });
  await nextTurn();
  await nextTurn();
  expect(ran).toEqual(['busy', 'other', 'busy', 'busy']);
});

test('after a pause it starts again', async () => {
  const turns = new WatchTurns(1);
  let runs = 0;
  const taker = { run: () => void runs++ };
  for (let i = 1; i <= 3; i++) {
    turns.add(taker);
    await nextTurn();
    expect(runs).toBe(i);
  }
});
