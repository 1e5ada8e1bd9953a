import { expect, test } from 'vitest';
import { FakeServer, TestClock } from '../../testing/fake-server.ts';
import { Api } from './api.ts';
import { Connection } from './connection.ts';

function connect(): Connection {
  const connection = new Connection(new TestClock(), () => Promise.resolve());
  connection.signedIn();
  return connection;
}

test('a session ends with an answer to one of its requests', () => {
  const connection = connect();
  connection.answered(401, connection.session);
  expect(connection.state.get()).toEqual({ kind: 'signed-out', expired: true });
});

test('a late answer to a request of the last session does not end the next one', () => {
  const connection = connect();
  const last = connection.session;
  connection.answered(401, last);
  connection.signedIn();
  connection.answered(401, last);
  expect(connection.state.get()).toEqual({ kind: 'online' });
});

test('after the end of the session, only what is served without one is sent', async () => {
  const server = new FakeServer();
  const connection = connect();
  const api = new Api(server.fetch, connection);
  server.nextJson({}, 401);
  await expect(api.json('/api/v1/pods')).rejects.toMatchObject({ code: 401 });
  await expect(api.json('/api/v1/nodes')).rejects.toMatchObject({ code: 401 });
  server.nextJson({ oidc: { issuer: 'https://issuer' } });
  await api.json('/console/sign-in', { withoutSession: true });
  connection.signedIn();
  server.nextJson({});
  await api.json('/api/v1/nodes');
  expect(server.requests.map(({ pathname }) => pathname)).toEqual([
    '/api/v1/pods',
    '/console/sign-in',
    '/api/v1/nodes',
  ]);
});
