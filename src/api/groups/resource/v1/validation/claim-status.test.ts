// Errors of the status of claims: allocations, reservations, and device data of drivers.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, range, rows, variation } from '#api/testing/variation.ts';
import type * as resource from '../types.ts';
import * as validation from './index.ts';

const NO_REQUEST =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const UID = '00000000-0000-0000-0000-00000000000a';
const exactly = { deviceClassName: 'c' };
const claim = variation<resource.ResourceClaim>('resource/v1.ResourceClaim', {
  metadata: { name: 'it', namespace: 'default' },
  spec: {
    devices: {
      requests: [
        { name: 'r', exactly },
        {
          name: 'l',
          firstAvailable: [
            { name: 'a', ...exactly },
            { name: 'b', ...exactly },
          ],
        },
      ],
    },
  },
});

const result = { request: 'r', driver: 'd', pool: 'p', device: 'x' };
const allocation = { devices: { results: [result] } };
const consumer = { resource: 'pods', name: 'a', uid: '1' };
const consumers = (count: number): object[] =>
  range(count, (index) => ({ ...consumer, name: `a-${index}`, uid: `${index}` }));
const opaque = {
  driver: 'd.example.com',
  parameters: { kind: 'a', apiVersion: 'd.example.com/v1' },
};
const parameters = (size: number): object => ({ str: 'x'.repeat(size - '{"str":""}'.length) });
const DYING = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

/** Returns the messages for a status update. */
const check = (status: object, old: object = {}, change: object = {}): string[] =>
  messages(
    validation.validateResourceClaimStatus(
      claim({ ...change, status }),
      claim({ ...change, status: old }),
    ),
  );

describe('reservations', () => {
  const AT = 'status.reservedFor';
  test.each(
    rows<[status: object, old: object, errors: readonly string[]]>([
      [{}, {}, []],
      [{ allocation, reservedFor: [consumer] }, {}, []],
      [{ allocation, reservedFor: [consumer] }, { allocation }, []],
      [{ allocation, reservedFor: consumers(256) }, { allocation }, []],
      [
        { allocation, reservedFor: consumers(257) },
        { allocation },
        [`${AT}: Too many: 257: must have at most 256 items`],
      ],
      [
        { allocation, reservedFor: [consumer, consumer] },
        { allocation },
        [`${AT}[1]: Duplicate value: "1"`],
      ],
      [
        { reservedFor: [consumer] },
        {},
        [`${AT}: Forbidden: may not be specified when \`allocated\` is not set`],
      ],
      [
        { allocation, reservedFor: [{ ...consumer, resource: '' }] },
        { allocation },
        [`${AT}[0].resource: Required value`],
      ],
      [
        { allocation, reservedFor: [{ ...consumer, name: '' }] },
        { allocation },
        [`${AT}[0].name: Required value`],
      ],
      [
        { allocation, reservedFor: [{ ...consumer, uid: '' }] },
        { allocation },
        [`${AT}[0].uid: Required value`],
      ],
      [
        { allocation, reservedFor: [{ resource: '', name: '', uid: '' }] },
        { allocation },
        [
          `${AT}[0].resource: Required value`,
          `${AT}[0].name: Required value`,
          `${AT}[0].uid: Required value`,
        ],
      ],
    ]),
  )('%s', (_, status, old, errors) => {
    expect(check(status, old)).toEqual(errors);
  });

  test.each(
    rows<[now: object, old: object, errors: readonly string[]]>([
      [
        { allocation, reservedFor: [consumer] },
        { allocation },
        [
          `${AT}: Forbidden: new entries may not be added while \`deallocationRequested\` ` +
            'or `deletionTimestamp` are set',
        ],
      ],
      [{ allocation, reservedFor: [consumer] }, { allocation, reservedFor: [consumer] }, []],
      [{ allocation, reservedFor: consumers(1) }, { allocation, reservedFor: consumers(2) }, []],
      [{}, { allocation, reservedFor: [consumer] }, []],
    ]),
  )('of a claim that goes: %s', (_, status, old, errors) => {
    expect(check(status, old, DYING)).toEqual(errors);
  });
});

describe('allocations', () => {
  const AT = 'status.allocation.devices.results[0]';
  const allocated = (change: object): object => ({
    allocation: { devices: { results: [{ ...result, ...change }] } },
  });
  const selecting = (...terms: readonly object[]): object => ({
    allocation: { ...allocation, nodeSelector: { nodeSelectorTerms: terms } },
  });
  const expression = { key: 'foo', operator: 'In', values: ['-1'] };
  const BAD_VALUE =
    'status.allocation.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "-1": ' +
    NAME_MESSAGES.labelValue;

  test.each(
    rows<[status: object, errors: readonly string[]]>([
      [{ allocation: {} }, []],
      [{ allocation }, []],
      [allocated({ adminAccess: false }), []],
      [allocated({ request: 'l/a' }), []],
      [allocated({ request: 'l/b' }), []],
      [
        allocated({ request: '!@#' }),
        [
          `${AT}.request: Invalid value: "!@#": ${NAME_MESSAGES.label}`,
          `${AT}.request: Invalid value: "!@#": ${NO_REQUEST}`,
        ],
      ],
      [allocated({ request: 'x' }), [`${AT}.request: Invalid value: "x": ${NO_REQUEST}`]],
      [allocated({ request: 'l/c' }), [`${AT}.request: Invalid value: "l/c": ${NO_REQUEST}`]],
      [allocated({ request: 'l/a/b' }), [`${AT}.request: Invalid value: "l/a/b": ${NO_REQUEST}`]],
      [
        allocated({ request: '!@#/&%' }),
        [
          `${AT}.request: Invalid value: "!@#": ${NAME_MESSAGES.label}`,
          `${AT}.request: Invalid value: "&%": ${NAME_MESSAGES.label}`,
          `${AT}.request: Invalid value: "!@#/&%": ${NO_REQUEST}`,
        ],
      ],
      [allocated({ driver: '' }), [`${AT}.driver: Required value`]],
      [
        allocated({ driver: '!@#' }),
        [`${AT}.driver: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`],
      ],
      [allocated({ pool: '' }), [`${AT}.pool: Required value`]],
      [
        allocated({ pool: 'a/!@#' }),
        [`${AT}.pool: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`],
      ],
      [allocated({ device: '' }), [`${AT}.device: Invalid value: "": ${NAME_MESSAGES.label}`]],
      [
        allocated({ device: 'a/b' }),
        [`${AT}.device: Invalid value: "a/b": ${NAME_MESSAGES.label}`],
      ],
      [{ allocation: { devices: { results: range(32, () => result) } } }, []],
      [
        { allocation: { devices: { results: range(33, () => result) } } },
        ['status.allocation.devices.results: Too many: 33: must have at most 32 items'],
      ],
      [allocated({ shareID: UID }), []],
      [allocated({ shareID: UID, consumedCapacity: { memory: '1Gi' } }), []],
      [
        allocated({ shareID: 'x' }),
        [`${AT}.shareID: Invalid value: "x": error validating uid: invalid UUID length: 1`],
      ],
      [
        allocated({ shareID: UID.replace('a', 'z') }),
        [
          `${AT}.shareID: Invalid value: "${UID.replace('a', 'z')}": error validating uid: invalid UUID format`,
        ],
      ],
      [
        allocated({ shareID: UID.toUpperCase() }),
        [
          `${AT}.shareID: Invalid value: "${UID.toUpperCase()}": uid must be in RFC 4122 ` +
            'normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase ' +
            'hexadecimal characters',
        ],
      ],
      [allocated({ tolerations: [{ key: 'a', operator: 'Exists' }] }), []],
      [allocated({ tolerations: [{ operator: 'x' }] }), []],
      [
        allocated({
          bindingConditions: ['a', 'example.com/b'],
          bindingFailureConditions: ['c', 'example.com/d'],
        }),
        [],
      ],
      [
        allocated({ bindingConditions: ['a'] }),
        [
          `${AT}.bindingFailureConditions: Invalid value: null: bindingFailureConditions ` +
            'are required to use bindingConditions',
        ],
      ],
      [
        allocated({ bindingFailureConditions: ['a'] }),
        [
          `${AT}.bindingConditions: Invalid value: null: bindingConditions are required to ` +
            'use bindingFailureConditions',
        ],
      ],
      [
        allocated({ bindingConditions: ['a'], bindingFailureConditions: ['a'] }),
        [
          `${AT}.bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions ` +
            'must not overlap with bindingConditions',
        ],
      ],
      [
        allocated({ bindingConditions: ['a', 'a'], bindingFailureConditions: ['b', 'b'] }),
        [
          `${AT}.bindingConditions[1]: Duplicate value: "a"`,
          `${AT}.bindingFailureConditions[1]: Duplicate value: "b"`,
        ],
      ],
      [
        allocated({
          bindingConditions: range(5, (index) => `a${index}`),
          bindingFailureConditions: ['b!'],
        }),
        [
          `${AT}.bindingConditions: Too many: 5: must have at most 4 items`,
          `${AT}.bindingFailureConditions[0]: Invalid value: "b!": ${NAME_MESSAGES.namePart}`,
        ],
      ],
      [
        { allocation: { nodeSelector: {} } },
        [
          'status.allocation.nodeSelector.nodeSelectorTerms: Required value: must have at least one node selector term',
        ],
      ],
      [selecting({ matchExpressions: [{ ...expression, values: ['1'] }] }), []],
      [selecting({ matchExpressions: [expression] }), [BAD_VALUE]],
    ]),
  )('%s', (_, status, errors) => {
    expect(check(status)).toEqual(errors);
  });

  test.each(
    rows<[config: readonly object[], errors: readonly string[]]>([
      [
        [
          { source: 'FromClaim', opaque },
          { source: 'FromClass', opaque },
        ],
        [],
      ],
      [[{ source: 'FromClaim', requests: ['r', 'l', 'l/a'], opaque }], []],
      [range(64, () => ({ source: 'FromClaim', opaque })), []],
      [
        range(65, () => ({ source: 'FromClaim', opaque })),
        [': Too many: 65: must have at most 64 items'],
      ],
      [[{ source: '', opaque }], ['[0].source: Required value']],
      [
        [{ source: 'x', opaque }],
        ['[0].source: Unsupported value: "x": supported values: "FromClaim", "FromClass"'],
      ],
      [
        [{ source: 'FromClaim', requests: ['r', '!@#'], opaque }],
        [
          `[0].requests[1]: Invalid value: "!@#": ${NAME_MESSAGES.label}`,
          `[0].requests[1]: Invalid value: "!@#": ${NO_REQUEST}`,
        ],
      ],
      [
        [{ source: 'FromClaim', requests: ['r', 'r'], opaque }],
        ['[0].requests[1]: Duplicate value: "r"'],
      ],
      [[{ source: 'FromClaim' }], ['[0].opaque: Required value']],
      [
        [{ source: 'FromClaim', opaque: { driver: '', parameters: null } }],
        ['[0].opaque.driver: Required value', '[0].opaque.parameters: Required value'],
      ],
      [[{ source: 'FromClaim', opaque: { driver: 'd', parameters: parameters(10 * 1024) } }], []],
      [
        [{ source: 'FromClaim', opaque: { driver: 'd', parameters: parameters(10 * 1024 + 1) } }],
        ['[0].opaque.parameters: Too long: may not be more than 10240 bytes'],
      ],
    ]),
  )('configuration %s', (_, config, errors) => {
    const status = { allocation: { devices: { ...allocation.devices, config } } };
    expect(check(status)).toEqual(
      errors.map((error) => `status.allocation.devices.config${error}`),
    );
  });

  test.each(
    rows<[status: object, old: object, fields: readonly string[]]>([
      [allocated({ driver: 'e' }), { allocation }, ['status.allocation']],
      [{}, { allocation }, []],
      // Unchanged values are not checked again.
      [
        selecting({ matchExpressions: [expression] }),
        selecting({ matchExpressions: [expression] }),
        [],
      ],
      [
        { ...selecting({ matchExpressions: [expression] }), reservedFor: consumers(256) },
        selecting({ matchExpressions: [expression] }),
        [],
      ],
      [allocated({ request: 'l/c' }), allocated({ request: 'l/c' }), []],
      [
        {
          allocation: {
            devices: {
              config: [
                { source: 'FromClaim', opaque: { driver: 'd', parameters: parameters(11_000) } },
              ],
            },
          },
        },
        {
          allocation: {
            devices: {
              config: [
                { source: 'FromClaim', opaque: { driver: 'd', parameters: parameters(11_000) } },
              ],
            },
          },
        },
        [],
      ],
    ]),
  )('once they are there: %s', (_, status, old, fields) => {
    const errors = validation.validateResourceClaimStatus(
      claim({ status }),
      claim({ status: old }),
    );
    expect(errors.map(({ field, detail }) => [field, detail])).toEqual(
      fields.map((field) => [field, 'field is immutable']),
    );
  });
});

describe('device status of drivers', () => {
  const device = (change: object = {}): object => ({
    driver: 'd',
    pool: 'p',
    device: 'x',
    conditions: [],
    ...change,
  });
  const condition = (index: number): object => ({
    type: `test-${index}`,
    status: 'True',
    reason: 'test_reason',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const addresses = (count: number): string[] => range(count, (index) => `10.9.8.${index}/24`);

  test.each(
    rows<[devices: readonly object[], errors: readonly string[]]>([
      [[device()], []],
      [
        [
          device({
            conditions: range(8, condition),
            data: { kind: 'a', apiVersion: 'd.example.com/v1' },
            networkData: {
              interfaceName: 'x'.repeat(256),
              hardwareAddress: 'x'.repeat(128),
              ips: [...addresses(14), '2001:db8::/64', '2001:db8::1/64'],
            },
          }),
        ],
        [],
      ],
      [[device(), device()], ['[1]: Duplicate value: "d/p/x"']],
      [
        [device({ networkData: { ips: ['2001:db8::1/64', '2001:db8::1/64'] } })],
        ['[0].networkData.ips[1]: Duplicate value: "2001:db8::1/64"'],
      ],
      [
        [
          device({
            networkData: { interfaceName: 'x'.repeat(257), hardwareAddress: 'x'.repeat(129) },
          }),
        ],
        [
          '[0].networkData.interfaceName: Too long: may not be more than 256 bytes',
          '[0].networkData.hardwareAddress: Too long: may not be more than 128 bytes',
        ],
      ],
      [
        [
          device({
            networkData: { ips: ['300.9.8.0/24', '1.2.3.4', '2001:0db8::1/64', '2001:DB8::1/64'] },
          }),
        ],
        [
          '[0].networkData.ips[0]: Invalid value: "300.9.8.0/24": must be a valid address ' +
            'in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
          '[0].networkData.ips[1]: Invalid value: "1.2.3.4": must be a valid address in ' +
            'CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)',
          '[0].networkData.ips[2]: Invalid value: "2001:0db8::1/64": must be in canonical form ("2001:db8::1/64")',
          '[0].networkData.ips[3]: Invalid value: "2001:DB8::1/64": must be in canonical form ("2001:db8::1/64")',
        ],
      ],
      [[device({ networkData: { ips: addresses(16) } })], []],
      [
        [device({ networkData: { ips: addresses(17) } })],
        ['[0].networkData.ips: Too many: 17: must have at most 16 items'],
      ],
      [
        [device({ conditions: range(9, condition) })],
        ['[0].conditions: Too many: 9: must have at most 8 items'],
      ],
      [
        [device({ conditions: [{ ...condition(0), status: 'Maybe' }] })],
        [
          '[0].conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        ],
      ],
      [
        [device({ conditions: [condition(0), condition(0)] })],
        ['[0].conditions[1].type: Duplicate value: "test-0"'],
      ],
      [[device({ data: parameters(10 * 1024) })], []],
      [
        [device({ data: parameters(10 * 1024 + 1) })],
        ['[0].data: Too long: may not be more than 10240 bytes'],
      ],
      [
        [device({ data: ['foo'] })],
        ['[0].data: Invalid value: "<value omitted>": must be a valid JSON object'],
      ],
      [
        [device({ driver: 'b', pool: 'a', device: 'r' })],
        ['[0]: Invalid value: "b/a/r": must be an allocated device in the claim'],
      ],
      [
        [device({ driver: '', pool: '', device: '' })],
        [
          '[0].driver: Required value',
          '[0].pool: Required value',
          `[0].device: Invalid value: "": ${NAME_MESSAGES.label}`,
          '[0]: Invalid value: "//": must be an allocated device in the claim',
        ],
      ],
      [
        [device({ shareID: UID })],
        [`[0]: Invalid value: "d/p/x/${UID}": must be an allocated device in the claim`],
      ],
      [
        [device({ shareID: 'x' })],
        [
          '[0].shareID: Invalid value: "x": error validating uid: invalid UUID length: 1',
          '[0]: Invalid value: "d/p/x/x": must be an allocated device in the claim',
        ],
      ],
    ]),
  )('%s', (_, devices, errors) => {
    expect(check({ allocation, devices }, { allocation })).toEqual(
      errors.map((error) => `status.devices${error}`),
    );
  });

  test('a device that is not allocated is rejected', () => {
    expect(check({ devices: [device()] })).toEqual([
      'status.devices[0]: Invalid value: "d/p/x": must be an allocated device in the claim',
    ]);
  });

  test('each share has its own status', () => {
    const shares = ['a', 'b'].map((end) => UID.replace('a', end));
    const results = shares.map((shareID) => ({ ...result, shareID }));
    const devices = shares.map((shareID) => device({ shareID }));
    expect(check({ allocation: { devices: { results } }, devices })).toEqual([]);
  });
});
