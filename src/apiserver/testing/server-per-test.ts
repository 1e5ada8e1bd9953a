// A server of its own for each test of a file.

import { afterEach, beforeEach, expect } from 'vitest';

import type { Clock, VirtualClock } from '#machinery/clock.ts';
import { startTestServer, type TestServer, type TestServerConfig } from './server.ts';

/**
 * Starts a server before each test of the file, and stops it afterwards; a test whose server has
 * logged an error fails. Call it at the top level of the file, or of a `describe`. The members of
 * the result are those of the running test's server.
 */
export function serverPerTest<C extends Clock = VirtualClock>(
  config: TestServerConfig<C> | (() => TestServerConfig<C>) = {},
): TestServer<C> {
  let current: TestServer<C> | undefined;
  beforeEach(async () => {
    current = await startTestServer(typeof config === 'function' ? config() : config);
  });
  afterEach(async () => {
    const { stop, logger } = current!;
    current = undefined;
    await stop();
    expect(logger.errors).toEqual([]);
  });
  const running = (): TestServer<C> => {
    if (current === undefined) throw new Error('the server runs only while a test does');
    return current;
  };
  return {
    get server() {
      return running().server;
    },
    get storage() {
      return running().storage;
    },
    get clock() {
      return running().clock;
    },
    get logger() {
      return running().logger;
    },
    get client() {
      return running().client;
    },
    clientOf: (user) => running().clientOf(user),
    stop: () => running().stop(),
  };
}
