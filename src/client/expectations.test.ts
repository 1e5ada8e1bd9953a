import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { ControllerExpectations } from './expectations.ts';

describe('ControllerExpectations', () => {
  test('are satisfied when every creation was observed or has failed', () => {
    const expectations = new ControllerExpectations({ clock: new VirtualClock() });
    expect(expectations.satisfiedExpectations('x/a')).toBe(true);
    expectations.expectCreations('x/a', 2);
    expectations.creationObserved('x/b');
    expectations.creationObserved('x/a');
    expect(expectations.satisfiedExpectations('x/a')).toBe(false);
    expectations.creationObserved('x/a');
    expectations.creationObserved('x/a');
    expect(expectations.satisfiedExpectations('x/a')).toBe(true);
  });

  test('count a deletion once per UID, and only expected ones', () => {
    const expectations = new ControllerExpectations({ clock: new VirtualClock() });
    expectations.expectDeletions('x/a', ['1', '2']);
    expectations.deletionObserved('x/a', '1');
    expectations.deletionObserved('x/a', '1');
    expectations.deletionObserved('x/a', 'other');
    expect(expectations.satisfiedExpectations('x/a')).toBe(false);
    expectations.deletionObserved('x/a', '2');
    expect(expectations.satisfiedExpectations('x/a')).toBe(true);
  });

  test('expire, and are removed with their object', async () => {
    const clock = new VirtualClock();
    const expectations = new ControllerExpectations({ clock });
    expectations.expectCreations('x/a', 1);
    await clock.advance('4m59s');
    expect(expectations.satisfiedExpectations('x/a')).toBe(false);
    expect(expectations.remainingMs('x/a')).toBe(1000);
    await clock.advance('1s');
    expect(expectations.satisfiedExpectations('x/a')).toBe(true);
    expectations.expectCreations('x/a', 1);
    expect(expectations.satisfiedExpectations('x/a')).toBe(false);
    expectations.deleteExpectations('x/a');
    expect(expectations.satisfiedExpectations('x/a')).toBe(true);
  });
});
