import { expect, test } from 'vitest';
import * as apierrors from '../apierrors.ts';

const STATUS = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };

test('a Status is received as it was sent', () => {
  for (const { status } of [
    apierrors.notFound({ group: '', resource: 'pods' }, 'x'),
    apierrors.resourceExpired('too old'),
    apierrors.tooLargeResourceVersion(5, 3, 1),
    apierrors.internalError('no'),
  ])
    expect(apierrors.receivedStatus(JSON.parse(JSON.stringify(status)), 418)).toEqual(status);
  const metadata = { continue: 'x', remainingItemCount: 5, resourceVersion: '7' };
  expect(apierrors.receivedStatus({ ...STATUS, code: 410, metadata }, 418)).toEqual({
    ...STATUS,
    code: 410,
    metadata,
  });
});

test.each([
  [{ code: 99_999 }, {}],
  [{ code: 101, message: {}, reason: 1, status: [], metadata: 'x' }, {}],
  [{ code: '404', details: [] }, {}],
  [
    { details: { name: {}, kind: 'pods', causes: 1, retryAfterSeconds: 'x\r\nA: b' } },
    { details: { kind: 'pods' } },
  ],
  [
    { details: { causes: [null, 'x', { reason: 'R', field: 5 }], retryAfterSeconds: 2 } },
    { details: { causes: [{ reason: 'R' }], retryAfterSeconds: 2 } },
  ],
])('of %j the wrong parts are left out', (sent, received) => {
  expect(apierrors.receivedStatus({ kind: 'Status', ...sent }, 418)).toEqual({
    ...STATUS,
    ...received,
    code: 418,
  });
});

test.each([null, 'Status', [], { kind: 'Pod' }, {}])('%j is no Status', (value) => {
  expect(apierrors.receivedStatus(value, 500)).toBeUndefined();
  expect(apierrors.watchError(value).message).toContain('error that is no Status');
});
