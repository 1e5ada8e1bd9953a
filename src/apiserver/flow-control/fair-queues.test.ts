import { describe, expect, test } from 'vitest';

import { fnv64a } from '#machinery/text/hash.ts';
import { FairQueues, QueuedRequest } from './fair-queues.ts';
import { dealHand } from './shuffle-sharding.ts';

class Named extends QueuedRequest {
  readonly name: string;

  constructor(name: string, seats = 1) {
    super(seats, fnv64a(name));
    this.name = name;
  }
}

describe('dealHand', () => {
  test('returns different cards of the deck, the same for the same hash', () => {
    for (let i = 0; i < 200; i++) {
      const hash = fnv64a(`flow ${i}`);
      const hand = dealHand(hash, 64, 6);
      expect(new Set(hand).size).toBe(6);
      expect(hand.every((card) => card >= 0 && card < 64)).toBe(true);
      expect(dealHand(hash, 64, 6)).toEqual(hand);
    }
  });

  test('spreads flows evenly, and deals whole decks', () => {
    const counts = Array.from({ length: 16 }, () => 0);
    for (let i = 0; i < 4000; i++)
      for (const card of dealHand(fnv64a(`flow ${i}`), 16, 4)) counts[card]!++;
    // 1000 are expected for each card.
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
    expect(dealHand(123_456_789n, 5, 5).toSorted()).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('fair queues', () => {
  const serve = (queues: FairQueues<Named>, ms = 3): string => {
    const request = queues.next()!;
    queues.dispatch(request);
    queues.finished(request, ms);
    return request.name;
  };

  test('serve a flow with one request before the rest of a flow with many', () => {
    const queues = new FairQueues<Named>({ queues: 64, handSize: 1, queueLengthLimit: 100 });
    for (let i = 0; i < 50; i++) queues.add(new Named('elephant'), false);
    expect(serve(queues)).toBe('elephant');
    queues.add(new Named('mouse'), false);
    expect([serve(queues), serve(queues)].toSorted()).toEqual(['elephant', 'mouse']);
    expect(queues.length).toBe(48);
  });

  test('charge a flow for seats and for the time that its requests really take', () => {
    const queues = new FairQueues<Named>({ queues: 64, handSize: 1, queueLengthLimit: 1000 });
    for (let i = 0; i < 400; i++) {
      queues.add(new Named('slow'), false);
      queues.add(new Named('wide', 2), false);
      queues.add(new Named('plain'), false);
    }
    const served = { slow: 0, wide: 0, plain: 0 };
    for (let i = 0; i < 350; i++) {
      const request = queues.next()!;
      queues.dispatch(request);
      queues.finished(request, request.name === 'slow' ? 40 : 10);
      served[request.name as keyof typeof served]++;
    }
    // The same seat-seconds for each: 1 × 40 ms, 2 × 10 ms, 1 × 10 ms.
    expect(served).toEqual({ slow: 50, wide: 100, plain: 200 });
  });

  test('reject what finds its queue full, unless it is forced', () => {
    const queues = new FairQueues<Named>({ queues: 1, handSize: 1, queueLengthLimit: 2 });
    expect(queues.add(new Named('a'), false)).toBe(1);
    expect(queues.add(new Named('b'), false)).toBe(2);
    expect(queues.add(new Named('c'), false)).toBeUndefined();
    expect(queues.add(new Named('c'), true)).toBe(3);
  });

  test('forget requests that leave', () => {
    const queues = new FairQueues<Named>({ queues: 1, handSize: 1, queueLengthLimit: 2 });
    const request = new Named('a');
    queues.add(request, false);
    queues.remove(request);
    expect(queues.length).toBe(0);
    expect(queues.next()).toBeUndefined();
    expect(() => queues.remove(request)).toThrow('does not wait');
  });
});
