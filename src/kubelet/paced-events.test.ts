import { expect, test } from 'vitest';
import { VirtualClock } from '../machinery/clock.ts';
import { PacedEvents } from './paced-events.ts';

test('events go out in order, a burst at once and the others at their pace', async () => {
  const clock = new VirtualClock();
  const sent: string[] = [];
  const events = new PacedEvents({
    clock,
    perSecond: 2,
    burst: 3,
    sink: { event: (_regarding, _type, _reason, message) => sent.push(message) },
  });
  for (let index = 0; index < 6; index++) events.event({}, 'Normal', 'Started', String(index));
  expect(sent).toEqual(['0', '1', '2']);
  await clock.advance('600ms');
  expect(sent).toEqual(['0', '1', '2', '3']);
  await clock.advance('1s');
  expect(sent).toEqual(['0', '1', '2', '3', '4', '5']);
  events.stop();
  expect(clock.pendingTimers).toBe(0);
});
