import { expect, test } from 'vitest';
import { FakeServer, TestClock } from '../../testing/fake-server.ts';
import { Api } from './api.ts';
import { ClusterClock } from './cluster-clock.ts';
import { Extras } from './extras.ts';

const observer = {
  session: 0,
  sessionEnded: false,
  answered: () => undefined,
  unreachable: () => undefined,
};

test('the time is that of a virtual clock, and moves on with it', async () => {
  const server = new FakeServer();
  const browser = new TestClock();
  const clock = new ClusterClock(browser);
  const abort = new AbortController();
  server.nextJson({ features: ['clock'] });
  server.nextJson({ time: '2030-01-01T00:00:00Z' });
  await clock.follow(new Extras(new Api(server.fetch, observer)), abort.signal);
  expect(new Date(clock.now()).toISOString()).toBe('2030-01-01T00:00:00.000Z');
  server.nextJson({ time: '2030-02-01T00:00:00Z' });
  await browser.advance(3000);
  expect(new Date(clock.now()).toISOString()).toBe('2030-02-01T00:00:00.000Z');
  abort.abort();
  await browser.advance(60_000);
  expect(server.requests).toHaveLength(3);
});

test('a cluster without a virtual clock is not asked', async () => {
  const server = new FakeServer();
  const browser = new TestClock();
  const clock = new ClusterClock(browser);
  server.nextJson({ message: 'not found' }, 404);
  await clock.follow(new Extras(new Api(server.fetch, observer)), new AbortController().signal);
  expect(clock.now()).toBe(browser.now());
  await browser.advance(60_000);
  expect(server.requests).toHaveLength(1);
});
