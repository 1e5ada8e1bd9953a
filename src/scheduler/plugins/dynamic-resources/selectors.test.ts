import { expect, test } from 'vitest';
import type { Steps } from '#machinery/turn.ts';
import { isKnown, SelectorError, selects } from './selectors.ts';

const DRIVER = 'gpu.example.com';

/** Returns the result, and the number of steps before it. */
function countSteps(steps: Steps<boolean>): { readonly steps: number; readonly result: boolean } {
  for (let count = 0; ; count++) {
    const { done, value } = steps.next();
    if (done === true) return { steps: count, result: value };
  }
}

test('a cheap selector takes no step, and its result is kept', () => {
  const device = { name: 'a' };
  const expression = `device.driver == "${DRIVER}"`;
  expect(isKnown(expression, device)).toBe(false);
  expect(countSteps(selects(expression, DRIVER, device))).toEqual({ steps: 0, result: true });
  expect(isKnown(expression, device)).toBe(true);
});

test('an expensive selector takes several steps, once', () => {
  const device = { name: 'a' };
  const list = `[${Array.from({ length: 40 }, (_, index) => index).join(',')}]`;
  const expression = `${list}.all(x, ${list}.all(y, ${list}.all(z, x + y + z >= 0)))`;
  const { steps, result } = countSteps(selects(expression, DRIVER, device));
  expect(result).toBe(true);
  expect(steps).toBeGreaterThan(3);
  expect(countSteps(selects(expression, DRIVER, device))).toEqual({ steps: 0, result: true });
});

test('an error is kept, too', () => {
  const device = { name: 'a' };
  const select = () => countSteps(selects('device.attributes["x"].y', DRIVER, device));
  expect(select).toThrow(SelectorError);
  expect(select).toThrow('CEL runtime error: no such key: y');
});
