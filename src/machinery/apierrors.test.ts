import { describe, expect, test } from 'vitest';
import * as apierrors from './apierrors.ts';
import type { Status, StatusError } from './apierrors.ts';
import * as field from './validation/field.ts';

const pods = { group: '', resource: 'pods' };
const replicaSets = { group: 'apps', resource: 'replicasets' };
const none = { group: '', resource: '' };

/** Returns the parts of a Status that differ between errors; the tables leave out the others. */
function partsOf(error: StatusError) {
  const { kind, apiVersion, metadata, status, ...parts } = error.status;
  expect({ kind, apiVersion, metadata, status }).toEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
  });
  expect(error.message).toBe(parts.message ?? '');
  expect(error.code).toBe(parts.code);
  expect(error.reason).toBe(parts.reason ?? '');
  return parts;
}

describe('invalid', () => {
  const large = 'x'.repeat(200_000);
  const errorsOf = (count: number): field.FieldError[] =>
    Array.from({ length: count }, (_, i) =>
      field.invalid(field.path('list').index(i), large, 'bad'),
    );

  test('shows the first errors if all of them are too long', () => {
    const { status } = apierrors.invalid({ group: '', kind: 'Pod' }, 'x', errorsOf(1000));
    expect(status.details?.causes?.map((cause) => cause.field)).toEqual(['list[0]', 'list[1]']);
    expect(status.message?.length).toBeLessThan(500_000);
  });

  test('shows one error, however long it is', () => {
    const error = field.invalid(field.path('a'), large.repeat(10), 'bad');
    expect(
      apierrors.invalid({ group: '', kind: 'Pod' }, 'x', [error]).status.details?.causes,
    ).toHaveLength(1);
  });
});

describe('constructors', () => {
  test.each<[string, StatusError, Omit<Status, 'kind' | 'apiVersion' | 'metadata'>]>([
    [
      'notFound',
      apierrors.notFound(replicaSets, 'web'),
      {
        code: 404,
        reason: 'NotFound',
        message: 'replicasets.apps "web" not found',
        details: { name: 'web', group: 'apps', kind: 'replicasets' },
      },
    ],
    [
      'notFound in the core group',
      apierrors.notFound(pods, 'web'),
      {
        code: 404,
        reason: 'NotFound',
        message: 'pods "web" not found',
        details: { name: 'web', kind: 'pods' },
      },
    ],
    [
      'alreadyExists',
      apierrors.alreadyExists(pods, 'web'),
      {
        code: 409,
        reason: 'AlreadyExists',
        message: 'pods "web" already exists',
        details: { name: 'web', kind: 'pods' },
      },
    ],
    [
      'generateNameConflict',
      apierrors.generateNameConflict(pods, 'web-x', 1),
      {
        code: 409,
        reason: 'AlreadyExists',
        message:
          'pods "web-x" already exists, the server was not able to generate a unique name for the object',
        details: { name: 'web-x', kind: 'pods', retryAfterSeconds: 1 },
      },
    ],
    [
      'unauthorized',
      apierrors.unauthorized('Unauthorized'),
      { code: 401, reason: 'Unauthorized', message: 'Unauthorized' },
    ],
    [
      'unauthorized',
      apierrors.unauthorized(),
      { code: 401, reason: 'Unauthorized', message: 'not authorized' },
    ],
    [
      'forbidden',
      apierrors.forbidden(pods, 'web', new Error('no')),
      {
        code: 403,
        reason: 'Forbidden',
        message: 'pods "web" is forbidden: no',
        details: { name: 'web', kind: 'pods' },
      },
    ],
    [
      'forbidden without name',
      apierrors.forbidden(pods, '', 'no'),
      {
        code: 403,
        reason: 'Forbidden',
        message: 'pods is forbidden: no',
        details: { kind: 'pods' },
      },
    ],
    [
      'forbidden without resource',
      apierrors.forbidden(none, '', 'no'),
      { code: 403, reason: 'Forbidden', message: 'forbidden: no', details: {} },
    ],
    [
      'conflict',
      apierrors.conflict(replicaSets, 'web', apierrors.OPTIMISTIC_LOCK_MESSAGE),
      {
        code: 409,
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on replicasets.apps "web": the object has been ' +
          'modified; please apply your changes to the latest version and try again',
        details: { name: 'web', group: 'apps', kind: 'replicasets' },
      },
    ],
    [
      'applyConflict',
      apierrors.applyConflict(
        [{ reason: 'FieldManagerConflict', message: 'm', field: '.spec' }],
        'Apply failed',
      ),
      {
        code: 409,
        reason: 'Conflict',
        message: 'Apply failed',
        details: { causes: [{ reason: 'FieldManagerConflict', message: 'm', field: '.spec' }] },
      },
    ],
    ['gone', apierrors.gone('over'), { code: 410, reason: 'Gone', message: 'over' }],
    [
      'resourceExpired',
      apierrors.resourceExpired('too old'),
      { code: 410, reason: 'Expired', message: 'too old' },
    ],
    [
      'invalid',
      apierrors.invalid({ group: 'apps', kind: 'ReplicaSet' }, 'web', [
        field.required(field.path('spec', 'selector')),
        field.invalid(field.path('spec', 'replicas'), -1, 'must be greater than or equal to 0'),
      ]),
      {
        code: 422,
        reason: 'Invalid',
        message:
          'ReplicaSet.apps "web" is invalid: [spec.selector: Required value, ' +
          'spec.replicas: Invalid value: -1: must be greater than or equal to 0]',
        details: {
          name: 'web',
          group: 'apps',
          kind: 'ReplicaSet',
          causes: [
            { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.selector' },
            {
              reason: 'FieldValueInvalid',
              message: 'Invalid value: -1: must be greater than or equal to 0',
              field: 'spec.replicas',
            },
          ],
        },
      },
    ],
    [
      'invalid with one error',
      apierrors.invalid({ group: '', kind: 'Pod' }, '', [field.required(field.path('spec'))]),
      {
        code: 422,
        reason: 'Invalid',
        message: 'Pod "" is invalid: spec: Required value',
        details: {
          kind: 'Pod',
          causes: [{ reason: 'FieldValueRequired', message: 'Required value', field: 'spec' }],
        },
      },
    ],
    [
      'invalid without errors',
      apierrors.invalid({ group: '', kind: 'Pod' }, 'a', []),
      {
        code: 422,
        reason: 'Invalid',
        message: 'Pod "a" is invalid',
        details: { name: 'a', kind: 'Pod' },
      },
    ],
    ['badRequest', apierrors.badRequest('no'), { code: 400, reason: 'BadRequest', message: 'no' }],
    [
      'tooManyRequests',
      apierrors.tooManyRequests('slow down', 5),
      {
        code: 429,
        reason: 'TooManyRequests',
        message: 'slow down',
        details: { retryAfterSeconds: 5 },
      },
    ],
    [
      'tooManyRequestsError',
      apierrors.tooManyRequestsError('slow down'),
      { code: 429, reason: 'TooManyRequests', message: 'Too many requests: slow down' },
    ],
    [
      'serviceUnavailable',
      apierrors.serviceUnavailable('later'),
      { code: 503, reason: 'ServiceUnavailable', message: 'later' },
    ],
    [
      'methodNotSupported',
      apierrors.methodNotSupported(replicaSets, 'proxy'),
      {
        code: 405,
        reason: 'MethodNotAllowed',
        message: 'proxy is not supported on resources of kind "replicasets.apps"',
        details: { group: 'apps', kind: 'replicasets' },
      },
    ],
    [
      'serverTimeout',
      apierrors.serverTimeout(pods, 'create', 0),
      {
        code: 500,
        reason: 'ServerTimeout',
        message:
          'The create operation against pods could not be completed at this time, please try again.',
        details: { name: 'create', kind: 'pods' },
      },
    ],
    [
      'internalError',
      apierrors.internalError(new Error('boom')),
      {
        code: 500,
        reason: 'InternalError',
        message: 'Internal error occurred: boom',
        details: { causes: [{ message: 'boom' }] },
      },
    ],
    [
      'timeoutError',
      apierrors.timeoutError('slow', 3),
      { code: 504, reason: 'Timeout', message: 'Timeout: slow', details: { retryAfterSeconds: 3 } },
    ],
    [
      'requestEntityTooLarge',
      apierrors.requestEntityTooLarge('limit is 3145728'),
      {
        code: 413,
        reason: 'RequestEntityTooLarge',
        message: 'Request entity too large: limit is 3145728',
      },
    ],
    [
      'notAcceptable',
      apierrors.notAcceptable(['application/json', 'application/yaml']),
      {
        code: 406,
        reason: 'NotAcceptable',
        message: 'only the following media types are accepted: application/json, application/yaml',
      },
    ],
    [
      'unsupportedMediaType',
      apierrors.unsupportedMediaType(['application/json']),
      {
        code: 415,
        reason: 'UnsupportedMediaType',
        message:
          'the body of the request was in an unknown format - accepted media types include: application/json',
      },
    ],
    [
      'tooLargeResourceVersion',
      apierrors.tooLargeResourceVersion(100, 7, 1),
      {
        code: 504,
        reason: 'Timeout',
        message: 'Timeout: Too large resource version: 100, current: 7',
        details: {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
      },
    ],
  ])('%s', (_name, error, expected) => {
    expect(partsOf(error)).toEqual(expected);
  });

  test('keeps the original error as cause', () => {
    const why = new Error('disk');
    expect(apierrors.internalError(why).cause).toBe(why);
    expect(apierrors.conflict(pods, 'a', why).cause).toBe(why);
  });
});

describe('genericServerResponse', () => {
  const respond = (code: number, more: Partial<apierrors.GenericServerResponse> = {}) =>
    apierrors.genericServerResponse({
      code,
      verb: 'GET',
      serverMessage: 'said',
      isUnexpectedResponse: false,
      ...more,
    });

  test.each([
    [400, 'BadRequest', 'the server rejected our request for an unknown reason'],
    [401, 'Unauthorized', 'the server has asked for the client to provide credentials'],
    [403, 'Forbidden', 'said'],
    [404, 'NotFound', 'the server could not find the requested resource'],
    [405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource'],
    [406, 'NotAcceptable', 'said'],
    [409, 'Conflict', 'the server reported a conflict'],
    [415, 'UnsupportedMediaType', 'said'],
    [422, 'Invalid', 'the server rejected our request due to an error in our request'],
    [
      429,
      'TooManyRequests',
      'the server has received too many requests and has asked us to try again later',
    ],
    [
      500,
      'InternalError',
      'an error on the server ("said") has prevented the request from succeeding',
    ],
    [
      502,
      'InternalError',
      'an error on the server ("said") has prevented the request from succeeding',
    ],
    [503, 'ServiceUnavailable', 'the server is currently unable to handle the request'],
    [
      504,
      'Timeout',
      'the server was unable to return a response in the time allotted, but may still be processing the request',
    ],
    [302, '', 'the server responded with the status code 302 but did not return more information'],
  ])('%d', (code, reason, message) => {
    const error = respond(code);
    expect([error.code, error.reason, error.message]).toEqual([code, reason, message]);
  });

  test('names the URL and the resource', () => {
    const where = { resource: replicaSets, name: 'web' };
    expect(respond(404, where).message).toBe(
      'the server could not find the requested resource (get replicasets.apps web)',
    );
    expect(respond(404, { resource: pods }).message).toBe(
      'the server could not find the requested resource (get pods)',
    );
    expect(respond(404, where).status.details).toEqual({
      name: 'web',
      group: 'apps',
      kind: 'replicasets',
    });
    expect(respond(409, { verb: 'POST' }).reason).toBe('AlreadyExists');
    expect(respond(406, { serverMessage: '' }).message).toContain(
      'content type that the client supports',
    );
  });

  test('marks a response that was not in the form of the API', () => {
    const error = respond(503, { isUnexpectedResponse: true, retryAfterSeconds: 4 });
    expect(apierrors.isUnexpectedServerError(error)).toBe(true);
    expect(apierrors.isUnexpectedServerError(respond(503))).toBe(false);
    expect(apierrors.suggestsClientDelay(error)).toBe(4);
  });
});

describe('predicates', () => {
  const examples = {
    isNotFound: apierrors.notFound(pods, 'a'),
    isAlreadyExists: apierrors.alreadyExists(pods, 'a'),
    isConflict: apierrors.conflict(pods, 'a', 'x'),
    isInvalid: apierrors.invalid({ group: '', kind: 'Pod' }, 'a', []),
    isGone: apierrors.gone('x'),
    isResourceExpired: apierrors.resourceExpired('x'),
    isNotAcceptable: apierrors.notAcceptable([]),
    isUnsupportedMediaType: apierrors.unsupportedMediaType([]),
    isMethodNotSupported: apierrors.methodNotSupported(pods, 'x'),
    isServiceUnavailable: apierrors.serviceUnavailable('x'),
    isBadRequest: apierrors.badRequest('x'),
    isUnauthorized: apierrors.unauthorized('x'),
    isForbidden: apierrors.forbidden(pods, 'a', 'x'),
    isTimeout: apierrors.timeoutError('x'),
    isServerTimeout: apierrors.serverTimeout(pods, 'x', 1),
    isInternalError: apierrors.internalError('x'),
    isTooManyRequests: apierrors.tooManyRequests('x', 1),
    isRequestEntityTooLarge: apierrors.requestEntityTooLarge('x'),
  } as const;
  type Name = keyof typeof examples;
  const all: Readonly<Record<Name, (error: unknown) => boolean>> = apierrors;
  const names = Object.keys(examples) as Name[];

  test.each(names)('%s is true for its own error only', (name) => {
    const predicate = all[name];
    for (const other of names)
      expect([other, predicate(examples[other])]).toEqual([other, other === name]);
    expect(predicate(undefined)).toBe(false);
    expect(predicate(new Error('not found'))).toBe(false);
  });

  test('search wrapped errors, also circular ones', () => {
    const wrapped = new Error('cannot sync', {
      cause: new Error('cannot get', { cause: apierrors.notFound(pods, 'a') }),
    });
    expect(apierrors.isNotFound(wrapped)).toBe(true);
    expect(apierrors.reasonForError(wrapped)).toBe('NotFound');
    const circle = new Error('circle');
    circle.cause = circle;
    expect(apierrors.isNotFound(circle)).toBe(false);
  });

  test('use the code if the reason is unknown, otherwise the reason', () => {
    const status = (code: number, reason?: string): Status => ({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      code,
      reason,
    });
    expect(apierrors.isNotFound(apierrors.fromStatus(status(404)))).toBe(true);
    expect(apierrors.isNotFound(apierrors.fromStatus(status(404, 'Weird')))).toBe(true);
    expect(apierrors.isNotFound(apierrors.fromStatus(status(404, 'Conflict')))).toBe(false);
    expect(apierrors.isConflict(apierrors.fromStatus(status(404, 'Conflict')))).toBe(true);
    expect(apierrors.isConflict(apierrors.alreadyExists(pods, 'a'))).toBe(false);
    expect(apierrors.isTooManyRequests(apierrors.fromStatus(status(429, 'Conflict')))).toBe(true);
  });

  test('recognize a resourceVersion from the future', () => {
    expect(
      apierrors.isTooLargeResourceVersion(apierrors.tooLargeResourceVersion('9', '3', 1)),
    ).toBe(true);
    expect(apierrors.isTooLargeResourceVersion(apierrors.timeoutError('x'))).toBe(false);
  });

  test('return the delay that the server suggests', () => {
    expect(apierrors.suggestsClientDelay(apierrors.tooManyRequests('x', 7))).toBe(7);
    expect(apierrors.suggestsClientDelay(apierrors.serverTimeout(pods, 'x', 0))).toBe(0);
    expect(apierrors.suggestsClientDelay(apierrors.notFound(pods, 'x'))).toBeUndefined();
    expect(apierrors.suggestsClientDelay(apierrors.badRequest('x'))).toBeUndefined();
    expect(apierrors.suggestsClientDelay(new Error('x'))).toBeUndefined();
  });
});

describe('toStatus', () => {
  test('returns the Status of a StatusError, also of a wrapped one', () => {
    const error = apierrors.notFound(pods, 'a');
    expect(apierrors.toStatus(error)).toBe(error.status);
    expect(apierrors.toStatus(new Error('x', { cause: error }))).toBe(error.status);
  });

  test('returns a 500 for any other error', () => {
    const expected = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'boom',
      code: 500,
    };
    expect(apierrors.toStatus(new Error('boom'))).toEqual(expected);
    expect(apierrors.toStatus('boom')).toEqual(expected);
  });

  test('survives encoding and decoding', () => {
    const error = apierrors.invalid({ group: '', kind: 'Pod' }, 'a', [
      field.required(field.path('spec')),
    ]);
    const back = apierrors.fromStatus(JSON.parse(JSON.stringify(error.status)) as Status);
    expect(back.status).toEqual(error.status);
    expect(back.message).toBe(error.message);
    expect(apierrors.isInvalid(back)).toBe(true);
  });
});
