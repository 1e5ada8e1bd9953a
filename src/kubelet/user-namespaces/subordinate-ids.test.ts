import { describe, expect, test } from 'vitest';
import {
  parseSubordinateIds,
  readSubordinateIds,
  type RunProgram,
  SubordinateIdsError,
} from './subordinate-ids.ts';

/** Runs programs that have these outputs; undefined: the program is missing; a number: its status. */
const programs =
  (outputs: Readonly<Record<string, string | number | undefined>>): RunProgram =>
  (program, args) => {
    const result = outputs[[program, ...args].join(' ')];
    if (result === undefined) return Promise.resolve(undefined);
    return Promise.resolve(
      typeof result === 'number' ? { status: result, output: '' } : { status: 0, output: result },
    );
  };

const LINE = '0: kubelet 65536 2147483648\n';

describe('the IDs for pods', () => {
  test('are those of the user', async () => {
    const run = programs({
      'id -u kubelet': '998\n',
      'getsubids kubelet': LINE,
      'getsubids -g kubelet': LINE,
    });
    expect(await readSubordinateIds(run)).toEqual({ first: 65_536, length: 2_147_483_648 });
  });

  test.each([
    ['without the user', { 'id -u kubelet': 1, 'getsubids kubelet': LINE }],
    ['without getsubids', { 'id -u kubelet': '998\n' }],
    ['without id', {}],
  ])('%s are the default', async (_, outputs) => {
    expect(await readSubordinateIds(programs(outputs))).toBeUndefined();
  });

  test.each([
    [1, LINE, 'error retrieving additional uids for user "kubelet": exit status 1'],
    [LINE, 1, 'error retrieving additional gids for user "kubelet"'],
    [LINE, '0: kubelet 131072 65536\n', 'mismatched subuids and subgids for user "kubelet"'],
  ])('an error is not taken for their absence: %j, %j', async (uids, gids, message) => {
    const run = programs({
      'id -u kubelet': '998\n',
      'getsubids kubelet': uids,
      'getsubids -g kubelet': gids,
    });
    await expect(readSubordinateIds(run)).rejects.toThrow(SubordinateIdsError);
    await expect(readSubordinateIds(run)).rejects.toThrow(message);
  });
});

test.each([
  [`${LINE}1: kubelet 1 2\n`, 'it must contain only one line'],
  ['', 'invalid line'],
  ['0: kubelet 65536', 'invalid line'],
  ['0: kubelet -1 65536', 'invalid line'],
  ['0: kubelet 65536 4294967296', 'invalid line'],
])('the output %j is rejected', (output, message) => {
  expect(() => parseSubordinateIds(output)).toThrow(message);
});
