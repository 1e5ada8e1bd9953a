// Errors of device classes.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, range, rows, variation } from '#api/testing/variation.ts';
import type * as resource from '../types.ts';
import { validateDeviceClass } from './index.ts';

const classOf = variation<resource.DeviceClass>('resource/v1.DeviceClass', {
  metadata: { name: 'it' },
  spec: {},
});
const deviceClass = (spec: object): resource.DeviceClass => classOf({ spec });
const selector = { cel: { expression: 'true' } };
const config = (change: object = {}): object => ({
  opaque: { driver: 'd', parameters: { foo: 42 }, ...change },
});
const parameters = (size: number): object => ({ str: 'x'.repeat(size - '{"str":""}'.length) });
const TOO_LONG = 'spec.config[0].opaque.parameters: Too long: may not be more than 10240 bytes';

test.each(
  rows<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [{ extendedResourceName: 'example.com/gpu' }, []],
    [
      { extendedResourceName: 'example.com' },
      [
        'spec.extendedResourceName: Invalid value: "example.com": must be a valid extended resource name',
      ],
    ],
    [
      { extendedResourceName: 'kubernetes.io/gpu' },
      [
        'spec.extendedResourceName: Invalid value: "kubernetes.io/gpu": must be a valid extended resource name',
      ],
    ],
    [
      { extendedResourceName: 'requests.example.com/gpu' },
      [
        'spec.extendedResourceName: Invalid value: "requests.example.com/gpu": must be a valid extended resource name',
      ],
    ],
    [{ selectors: range(32, () => selector) }, []],
    [
      { selectors: range(33, () => selector) },
      ['spec.selectors: Too many: 33: must have at most 32 items'],
    ],
    [{ selectors: [selector, {}] }, ['spec.selectors[1].cel: Required value']],
    [
      { selectors: [{ cel: { expression: 'x'.repeat(10 * 1024 + 1) } }] },
      ['spec.selectors[0].cel.expression: Too long: may not be more than 10240 bytes'],
    ],
    [{ config: [config()] }, []],
    [{ config: range(32, () => config()) }, []],
    [
      { config: range(33, () => config()) },
      ['spec.config: Too many: 33: must have at most 32 items'],
    ],
    [{ config: [config(), {}] }, ['spec.config[1].opaque: Required value']],
    [
      { config: [{ opaque: { driver: '', parameters: null } }] },
      [
        'spec.config[0].opaque.driver: Required value',
        'spec.config[0].opaque.parameters: Required value',
      ],
    ],
    [
      { config: [config({ driver: '!@#' })] },
      [`spec.config[0].opaque.driver: Invalid value: "!@#": ${NAME_MESSAGES.subdomain}`],
    ],
    [
      { config: [config({ parameters: 'hello-world' })] },
      [
        'spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      ],
    ],
    [{ config: [config({ parameters: parameters(10 * 1024) })] }, []],
    [{ config: [config({ parameters: parameters(10 * 1024 + 1) })] }, [TOO_LONG]],
  ]),
)('%s', (_, spec, errors) => {
  expect(messages(validateDeviceClass(deviceClass(spec)))).toEqual(errors);
});

const large = { config: [config({ parameters: parameters(10 * 1024 + 1) })] };

test.each(
  rows<[now: object, old: object, errors: readonly string[]]>([
    [{}, {}, []],
    [{ config: [config({ parameters: parameters(10 * 1024) })] }, {}, []],
    [large, {}, [TOO_LONG]],
    [large, large, []],
    [{ ...large, extendedResourceName: 'example.com/gpu' }, large, []],
    [{ selectors: [{}] }, {}, ['spec.selectors[0].cel: Required value']],
    [{ selectors: [selector], config: [config()] }, { selectors: [], config: [] }, []],
  ]),
)('update to %s', (_, now, old, errors) => {
  expect(messages(validateDeviceClass(deviceClass(now), deviceClass(old)))).toEqual(errors);
});
