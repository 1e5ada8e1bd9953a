import { expect, test } from 'vitest';
import { nextTurn } from '#machinery/turn.ts';
import { compileMatchCondition, evaluateConditions } from './match-conditions.ts';

test('an expensive condition leaves turns to others', async () => {
  const source = 'request.groups.all(x, request.groups.all(y, (x + y).size() > 1))';
  const { condition } = compileMatchCondition(source);
  const groups = Array.from({ length: 200 }, (_, index) => `group-${index}`);
  const state = { isDone: false };
  let turns = 0;
  const result = evaluateConditions([condition!], { user: 'jane', groups }).finally(
    () => (state.isDone = true),
  );
  for (; !state.isDone; turns++) await nextTurn();
  expect(await result).toEqual({ matches: true, failed: false });
  expect(turns).toBeGreaterThan(3);
});
