import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { failureKind, storageErrorOf } from './errors.ts';

const errorOf = (code: status, details: string): Error =>
  Object.assign(new Error(details), { code, details });

test.each([
  [status.INVALID_ARGUMENT, 'etcdserver: request is too large'],
  [status.RESOURCE_EXHAUSTED, 'grpc: received message larger than max (2200000 vs. 2097152)'],
])('a request that is too large for etcd was not executed: %s %s', (code, details) => {
  const error = errorOf(code, details);
  expect(failureKind(error)).toBe('refused');
  expect(storageErrorOf(error)).toMatchObject({ reason: 'TooLarge', message: `etcd: ${details}` });
});

test('a response that is too large for the client leaves the outcome open', () => {
  const details = 'Received message larger than max (2200000 vs. 2097152)';
  expect(failureKind(errorOf(status.RESOURCE_EXHAUSTED, details))).toBe('unknown');
});
