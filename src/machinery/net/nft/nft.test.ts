import { describe, expect, test } from 'vitest';
import { FakeNft } from './fake-nft.ts';
import { execute } from '../../execute.ts';
import { NftError, obstacleToNft, parseNftError, removalOf, systemNft } from './index.ts';

describe('errors', () => {
  test.each([
    [
      '/dev/stdin:3:15-15: Error: Could not process rule: No such file or directory\nadd rule ip x z drop\n^',
      'NotFound',
      3,
    ],
    [
      '/dev/stdin:1:33-33: Error: Could not process rule: File exists\ncreate table ip x',
      'AlreadyExists',
      1,
    ],
    ['/dev/stdin:12:19-19: Error: Could not process rule: Device or resource busy', 'InUse', 12],
    ['Operation not permitted (you must be root)', 'NotPermitted', undefined],
    [
      'netlink: Error: cache initialization failed: Operation not permitted',
      'NotPermitted',
      undefined,
    ],
    [
      '/dev/stdin:1:11-12: Error: syntax error, unexpected ip, expecting string\nadd tabel ip x',
      'Syntax',
      1,
    ],
    ['', 'Other', undefined],
  ])('%j', (stderr, reason, line) => {
    expect(parseNftError(stderr, 1)).toMatchObject({ reason, line });
  });

  test('the message has the whole output of nft, the detail its first line', () => {
    const error = parseNftError('first\nsecond\n', 1);
    expect(error.message).toBe('nft failed: first\nsecond');
    expect(error.detail).toBe('first');
  });
});

test('a missing program has the reason NotInstalled', async () => {
  const error = await systemNft(['/nonexistent/program'])
    .run('')
    .catch((error_: unknown) => error_);
  expect(error).toBeInstanceOf(NftError);
  expect(error).toMatchObject({ reason: 'NotInstalled' });
});

test('the fake records, fails on request, and lists', async () => {
  const nft = new FakeNft();
  nft.failures.push(new NftError('InUse', 'busy'));
  await expect(nft.run('a')).rejects.toThrow('busy');
  await nft.run('b');
  nft.listings.set('ip x', '{}');
  expect([nft.runs, await nft.list('ip', 'x'), await nft.list('ip6', 'x')]).toEqual([
    ['b'],
    '{}',
    undefined,
  ]);
});

const INSIDE = ['unshare', '--net'];
const isUnavailable =
  process.platform !== 'linux' ||
  process.getuid?.() !== 0 ||
  (await execute([...INSIDE, 'nft', 'list', 'tables'], '').catch(() => ({ code: 1 }))).code !== 0;

describe.skipIf(isUnavailable)('the program (needs root and nft)', () => {
  const nft = systemNft(INSIDE);

  test('a transaction is all or nothing, and its error names the line', async () => {
    await nft.run('add table ip x\nadd chain ip x y\n');
    const error = await nft
      .run('add table ip x\nadd rule ip x absent drop\n')
      .catch((error_: unknown) => error_);
    expect(error).toMatchObject({ reason: 'NotFound', line: 2 });
  });

  test('absent tables', async () => {
    expect(await nft.list('ip', 'absent')).toBeUndefined();
    expect(await nft.tables()).toEqual([]);
    await nft.run(removalOf({ family: 'inet', name: 'absent' }));
  });

  test('availability', async () => {
    expect(await obstacleToNft(nft, 'add table ip probe\n')).toBeUndefined();
    expect(await obstacleToNft(nft, 'no command\n')).toContain('syntax error');
    expect(await obstacleToNft(systemNft(['/nonexistent/program']), '')).toBe(
      'the program nft is not installed',
    );
  });
});
