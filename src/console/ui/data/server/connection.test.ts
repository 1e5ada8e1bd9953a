import { expect, test } from 'vitest';
import { TestClock } from '../../testing/fake-server.ts';
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
