import { describe, expect, test } from 'vitest';
import { FairGate, type Lane } from './fair-gate.ts';

function gateOf(limit: number): {
  started: string[];
  enter: (lane: Lane, caller: number, name: string) => () => boolean;
  gate: FairGate;
} {
  const gate = new FairGate(limit);
  const started: string[] = [];
  return {
    started,
    gate,
    enter: (lane, caller, name) => gate.enter(lane, caller, () => started.push(name)),
  };
}

describe('FairGate', () => {
  test('starts requests up to the limit, the others when one leaves', () => {
    const { started, gate, enter } = gateOf(2);
    for (const name of ['a', 'b', 'c', 'd']) enter('node', 1, name);
    expect(started).toEqual(['a', 'b']);
    gate.leave();
    expect(started).toEqual(['a', 'b', 'c']);
    gate.leave();
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    gate.leave();
    gate.leave();
    enter('node', 1, 'e');
    enter('node', 1, 'f');
    enter('node', 1, 'g');
    expect(started.slice(4)).toEqual(['e', 'f']);
  });

  test('serves callers in turn, and controllers every second time', () => {
    const { started, gate, enter } = gateOf(1);
    enter('node', 0, 'first');
    for (const name of ['a1', 'a2', 'a3']) enter('node', 1, name);
    enter('node', 2, 'b1');
    enter('control', 3, 'x1');
    enter('control', 3, 'x2');
    for (let i = 0; i < 6; i++) gate.leave();
    expect(started).toEqual(['first', 'x1', 'a1', 'x2', 'b1', 'a2', 'a3']);
  });

  test('drops withdrawn requests, and reports started ones', () => {
    const { started, gate, enter } = gateOf(1);
    const first = enter('node', 1, 'a');
    const second = enter('node', 1, 'b');
    const third = enter('node', 1, 'c');
    expect([first(), second(), second()]).toEqual([false, true, true]);
    gate.leave();
    expect(started).toEqual(['a', 'c']);
    expect(third()).toBe(false);
    gate.leave();
    enter('node', 2, 'd');
    expect(started).toEqual(['a', 'c', 'd']);
  });

  test('starts no more than a limit that shrinks, and those that wait first when it grows', () => {
    let limit = 3;
    const gate = new FairGate(() => limit);
    const started: string[] = [];
    const enter = (name: string) => gate.enter('node', 1, () => started.push(name));
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) enter(name);
    expect(started).toEqual(['a', 'b', 'c']);
    limit = 1;
    gate.leave();
    gate.leave();
    expect(started).toEqual(['a', 'b', 'c']);
    gate.leave();
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    limit = 2;
    enter('g');
    expect(started.slice(4)).toEqual(['e']);
    limit = 4;
    gate.leave();
    expect(started.slice(5)).toEqual(['f', 'g']);
    for (let i = 0; i < 3; i++) gate.leave();
    expect(gate.isBusy).toBe(false);
  });
});
