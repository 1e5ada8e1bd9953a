import { describe, expect, test } from 'vitest';

import * as field from '#machinery/validation/field.ts';
import { rows, variation } from '#api/testing/variation.ts';
import type * as resource from '../types.ts';
import { validateDeviceClass, validateResourceClaim } from './index.ts';
import { selectorCost, selectorExpression } from './selectors.ts';

const AT = field.path('selector');
const issue = (place: number, what: string, source: string): string =>
  `compilation failed: ERROR: <input>:1:${place}: ${what}\n | ${source}\n | ${'.'.repeat(place - 1)}^`;

describe('an expression may be', () => {
  test.each([
    'true',
    'device.driver == "gpu.example.com"',
    'device.driver.startsWith("gpu") && device.driver.matches("^gpu[.]")',
    'device.attributes["gpu.example.com"].ready',
    '"gpu.example.com" in device.attributes && has(device.attributes["gpu.example.com"].model)',
    'device.attributes["gpu.example.com"].?model.orValue("none") == "large"',
    'device.attributes["gpu.example.com"].firmware.isGreaterThan(semver("1.0.0"))',
    'semver("1.0.0").isLessThan(device.attributes["gpu.example.com"].firmware)',
    'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("10Gi"))',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("10Gi")) >= 0',
    'cel.bind(gpu, device.attributes["gpu.example.com"], gpu.ready && gpu.cores > 3)',
    '!device.allowMultipleAllocations',
    'device.attributes.exists(domain, domain.endsWith("example.com"))',
  ])('%s', (expression) => {
    expect(selectorExpression(expression, AT)).toEqual([]);
  });
});

describe('an expression may not be', () => {
  const other = (type: string): string => `must evaluate to bool or the unknown type, not ${type}`;
  const end =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
  const missing = 'found no matching overload for';
  test.each(
    rows<[expression: string, message: string]>([
      ['', issue(1, `Syntax error: mismatched input '<EOF>' expecting ${end}`, '')],
      ['noSuchVar', issue(1, "undeclared reference to 'noSuchVar' (in container '')", 'noSuchVar')],
      ['noSuch(1)', issue(7, "undeclared reference to 'noSuch' (in container '')", 'noSuch(1)')],
      ['device.size', issue(7, "undefined field 'size'", 'device.size')],
      [
        'device.attributes[true].ready',
        issue(
          18,
          `${missing} '_[_]' applied to '(map(string, map(string, any)), bool)'`,
          'device.attributes[true].ready',
        ),
      ],
      [
        'device.driver > 1',
        issue(15, `${missing} '_>_' applied to '(string, int)'`, 'device.driver > 1'),
      ],
      [
        'device.capacity["a"].b == 1',
        issue(
          24,
          `${missing} '_==_' applied to '(kubernetes.Quantity, int)'`,
          'device.capacity["a"].b == 1',
        ),
      ],
      ['device', other('kubernetes.DRADevice')],
      ['device.driver', other('string')],
      ['device.attributes', other('map(string, map(string, google.protobuf.Any))')],
      ['device.attributes["a"]', other('map(string, google.protobuf.Any)')],
      ['device.capacity["a"].b', other('kubernetes.Quantity')],
      ['device.attributes["a"].b.c', other('dyn')],
      ['1 + 1', other('int')],
      ['timestamp("2026-01-01T00:00:00Z")', other('google.protobuf.Timestamp')],
      ['[true]', other('list(bool)')],
    ]),
  )('%s', (_, expression, message) => {
    const [error, ...more] = selectorExpression(expression, AT);
    expect(more).toEqual([]);
    expect(error).toMatchObject({ type: 'FieldValueInvalid', field: 'selector', detail: message });
  });
});

describe('the maximal cost of an expression', () => {
  const gpu = 'device.attributes["gpu.example.com"]';
  const memory = 'device.capacity["gpu.example.com"]';
  test.each([
    ['true', 0],
    ['device.driver == ""', 2],
    ['device.driver == "gpu.example.com"', 4],
    ['"gpu.example.com" in device.attributes', 3],
    [`${gpu}.ready`, 4],
    [`${gpu}["ready"]`, 4],
    [`${gpu}.cores > 0`, 5],
    [`${gpu}.model == "fish"`, 5],
    [`${gpu}.firmware.isGreaterThan(semver("0.0.1"))`, 6],
    [`cel.bind(gpu, ${gpu}, gpu.ready)`, 15],
    [`${gpu}.a && ${gpu}.b && ${gpu}.c`, 12],
    ['device.attributes.exists_one(domain, domain == "gpu.example.com")', 164],
    [`${gpu}.exists_one(name, name == "services")`, 133],
    [`${gpu}.services.split("example").size() >= 2`, 19],
    [`${gpu}.services.matches("[^a]?sym")`, 18],
    [`${memory}.size.isGreaterThan(quantity("1Ki"))`, 6],
    [`"size" in ${memory} && ${memory}.size.isGreaterThan(quantity("1Ki"))`, 10],
    [`!("size" in ${memory}) || ${memory}.size.isGreaterThan(quantity("1Ki"))`, 11],
    ['device.capacity.exists_one(domain, domain == "gpu.example.com")', 164],
    [`${memory}.exists_one(name, name == "memory")`, 133],
  ])('%s: %d', (expression, cost) => {
    expect(selectorCost(expression)).toBe(cost);
  });

  test('too expensive expressions are rejected', () => {
    const loops = (depth: number): string => {
      if (depth === 0) return "int('1'.find('[0-9]*')) < 100";
      return `[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all(x${depth}, ${loops(depth - 1)})`;
    };
    expect(selectorCost(loops(7))).toBe(85_555_551);
    expect(selectorExpression(loops(7), AT).map(String)).toEqual([
      'selector: Forbidden: too complex, exceeds cost limit',
    ]);
    expect(selectorCost(loops(4))).toBeLessThan(1_000_000);
    expect(selectorExpression(loops(4), AT)).toEqual([]);
  });
});

test('errors in claims and classes have its path', () => {
  const selectors = [{ cel: { expression: 'true' } }, { cel: { expression: 'device.driver' } }];
  const claim = variation<resource.ResourceClaim>('resource/v1.ResourceClaim', {
    metadata: { name: 'a', namespace: 'b' },
    spec: {
      devices: { requests: [{ name: 'one', exactly: { deviceClassName: 'gpus', selectors } }] },
    },
  });
  const fields = (errors: readonly { readonly field: string }[]): string[] =>
    errors.map((error) => error.field);
  expect(fields(validateResourceClaim(claim()))).toEqual([
    'spec.devices.requests[0].exactly.selectors[1].cel.expression',
  ]);
  const firstAvailable = [{ name: 'first', deviceClassName: 'gpus', selectors }];
  const alternatives = claim({
    spec: { devices: { requests: [{ name: 'one', firstAvailable }] } },
  });
  expect(fields(validateResourceClaim(alternatives))).toEqual([
    'spec.devices.requests[0].firstAvailable[0].selectors[1].cel.expression',
  ]);
  const deviceClass = variation<resource.DeviceClass>('resource/v1.DeviceClass', {
    metadata: { name: 'a' },
    spec: { selectors },
  });
  expect(fields(validateDeviceClass(deviceClass()))).toEqual(['spec.selectors[1].cel.expression']);
});
