// The condition Available, case by case.

import { describe, expect, test } from 'vitest';

import type { APIService } from '../api-services.ts';
import type { ServiceState } from '../service-states.ts';
import { LOCAL, PASSED, serviceProblem, withAvailability } from './conditions.ts';

const reference = { namespace: 'ns', name: 'api', port: 443 };
const service = (spec: object = {}): ServiceState['service'] =>
  ({
    metadata: { name: 'api' },
    spec: { ports: [{ port: 443, name: 'https' }], ...spec },
  }) as unknown as ServiceState['service'];
const slice = (ready: boolean | undefined, name = 'https'): ServiceState['slices'][number] =>
  ({
    metadata: { name: 'api' },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.0.0.1'], conditions: ready === undefined ? {} : { ready } }],
    ports: [{ name, port: 8443 }],
  }) as unknown as ServiceState['slices'][number];

describe('a service', () => {
  test.each<[string, ServiceState, string | undefined, string]>([
    [
      'that does not exist',
      { service: undefined, slices: [] },
      'ServiceNotFound',
      'service/api in "ns" is not present',
    ],
    [
      'without the port',
      { service: service({ ports: [{ port: 80 }] }), slices: [slice(true)] },
      'ServicePortError',
      'service/api in "ns" is not listening on port 443',
    ],
    [
      'without slices',
      { service: service(), slices: [] },
      'EndpointsNotFound',
      'cannot find endpointslices for service/api in "ns"',
    ],
    [
      'without ready endpoints',
      { service: service(), slices: [slice(false)] },
      'MissingEndpoints',
      'endpointslices for service/api in "ns" have no addresses with port name "https"',
    ],
    [
      'with endpoints of another port',
      { service: service(), slices: [slice(true, 'other')] },
      'MissingEndpoints',
      'endpointslices for service/api in "ns" have no addresses with port name "https"',
    ],
    [
      'with a ready endpoint',
      { service: service(), slices: [slice(false), slice(true)] },
      undefined,
      '',
    ],
    [
      'with an endpoint that does not say',
      { service: service(), slices: [slice(undefined)] },
      undefined,
      '',
    ],
    [
      'of another type',
      { service: service({ type: 'ExternalName', ports: [] }), slices: [] },
      undefined,
      '',
    ],
  ])('%s', (_name, state, reason, message) => {
    expect(serviceProblem(reference, state)).toEqual(
      reason === undefined ? undefined : { status: 'False', reason, message },
    );
  });
});

describe('the condition', () => {
  const apiService = {
    metadata: { name: 'v1.example.com' },
    spec: {},
    status: {},
  } as unknown as APIService;

  test('has the time of its last change of status', () => {
    const passed = withAvailability(apiService, PASSED, 1000);
    expect(passed.status.conditions).toMatchObject([
      { status: 'True', reason: 'Passed', lastTransitionTime: '1970-01-01T00:00:01Z' },
    ]);
    const local = withAvailability(passed, LOCAL, 9000);
    expect(local.status.conditions).toMatchObject([
      { status: 'True', reason: 'Local', lastTransitionTime: '1970-01-01T00:00:01Z' },
    ]);
    const failed = withAvailability(local, { status: 'False', reason: 'X', message: 'y' }, 9000);
    expect(failed.status.conditions).toMatchObject([
      { status: 'False', reason: 'X', lastTransitionTime: '1970-01-01T00:00:09Z' },
    ]);
  });

  test('is not written if it has not changed', () => {
    const passed = withAvailability(apiService, PASSED, 1000);
    expect(withAvailability(passed, PASSED, 9000)).toBe(passed);
  });
});
