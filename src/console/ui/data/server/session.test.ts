import { describe, expect, test } from 'vitest';
import { FakeServer, TestClock } from '../../testing/fake-server.ts';
import { Api } from './api.ts';
import { Connection } from './connection.ts';
import { loginCode, Session } from './session.ts';

function sessionWith(server: FakeServer): {
  readonly session: Session;
  readonly connection: Connection;
  readonly clock: TestClock;
  readonly others: () => number;
} {
  let others = 0;
  const clock = new TestClock();
  const connection = new Connection(clock, async () => undefined);
  const session = new Session(new Api(server.fetch, connection), clock, () => {
    others += 1;
  });
  return { session, connection, clock, others: () => others };
}

describe('Session', () => {
  test('another user is announced, the same one is not', async () => {
    const server = new FakeServer();
    const { session, others } = sessionWith(server);
    for (const user of ['ann', 'ann', 'bob']) server.nextJson({ user });
    await session.read();
    expect(others()).toBe(1);
    await session.read();
    expect(others()).toBe(1);
    await session.read();
    expect(others()).toBe(2);
    expect(session.info.get()?.user).toBe('bob');
  });

  test('the end of a session is announced five minutes before', async () => {
    const server = new FakeServer();
    const { session, clock } = sessionWith(server);
    server.nextJson({ user: 'ann', expiresInSeconds: 3600 });
    await session.read();
    await clock.advance(55 * 60_000 - 1);
    expect(session.endsSoon.get()).toBe(false);
    await clock.advance(1);
    expect(session.endsSoon.get()).toBe(true);
    // Another sign-in.
    server.nextJson({ user: 'ann', expiresInSeconds: 120 });
    await session.read();
    expect(session.endsSoon.get()).toBe(false);
    await clock.advance(60_000);
    expect(session.endsSoon.get()).toBe(true);
  });

  test('a token that the server rejects does not end the present session', async () => {
    const server = new FakeServer();
    const { session, connection } = sessionWith(server);
    connection.signedIn();
    server.nextJson({ message: 'Unauthorized' }, 401);
    await expect(session.signIn({ token: 'wrong' })).rejects.toThrow('Unauthorized');
    expect(connection.state.get()).toEqual({ kind: 'online' });
  });

  test('no session is no error; another error is one', async () => {
    const server = new FakeServer();
    const { session } = sessionWith(server);
    server.nextJson({ message: 'there is no session' }, 401);
    expect(await session.read()).toBe(false);
    server.nextJson({ message: 'broken' }, 500);
    await expect(session.read()).rejects.toThrow('broken');
  });

  test('a server without sessions is used without one', async () => {
    const server = new FakeServer();
    const { session } = sessionWith(server);
    server.nextJson({ message: 'not found' }, 404);
    expect(await session.read()).toBe(true);
    expect(session.info.get()).toEqual({ user: '' });
  });
});

test.each([
  ['#login=abcDEF-_123', 'abcDEF-_123'],
  ['#login=', undefined],
  ['#login=<script>', undefined],
  ['#/login=abcdefghij', undefined],
])('loginCode %s', (hash, code) => {
  expect(loginCode(hash)).toBe(code);
});
