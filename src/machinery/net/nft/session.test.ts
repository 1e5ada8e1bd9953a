import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../clock.ts';
import { execute } from '../../execute.ts';
import { NftSession } from './index.ts';

const INSIDE = ['unshare', '--net'];
const isUnavailable =
  process.platform !== 'linux' ||
  process.getuid?.() !== 0 ||
  (await execute([...INSIDE, 'nft', 'list', 'tables'], '').catch(() => ({ code: 1 }))).code !== 0;

const sessions: NftSession[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.close();
});
const open = (prefix: readonly string[]): NftSession => {
  const session = new NftSession({ clock: systemClock, prefix });
  sessions.push(session);
  return session;
};
const failure = (run: Promise<void>): Promise<unknown> =>
  run.then(
    () => undefined,
    (error: unknown) => error,
  );

describe.skipIf(isUnavailable)('the program in its interactive mode (needs root and nft)', () => {
  test('transactions run in order, each all or nothing; a failure has its reason', async () => {
    // Here each session is a network namespace, so all steps use one session.
    const nft = open(INSIDE);
    await nft.run('add table ip x\nadd chain ip x y\n');
    expect(await failure(nft.run('add chain ip x z\nadd rule ip x absent drop\n'))).toMatchObject({
      reason: 'NotFound',
    });
    // The failed transaction has added no chain.
    expect(await failure(nft.run('delete chain ip x z\n'))).toMatchObject({ reason: 'NotFound' });
    expect(await failure(nft.run('add tabel ip x\n'))).toMatchObject({ reason: 'Syntax' });
    await nft.run('delete chain ip x y\ndelete table ip x\n');
    expect(await failure(nft.run('delete table ip x\n'))).toMatchObject({ reason: 'NotFound' });
    await nft.run('');
  });

  test('many transactions at once', async () => {
    const nft = open(INSIDE);
    await nft.run('add table ip x\nadd set ip x s { type inet_service; }\n');
    const ports = Array.from({ length: 200 }, (_, index) => index + 1);
    await Promise.all(ports.map((port) => nft.run(`add element ip x s { ${port} }\n`)));
    await nft.run(ports.map((port) => `delete element ip x s { ${port} }\n`).join(''));
    expect(await failure(nft.run('delete element ip x s { 7 }\n'))).toMatchObject({
      reason: 'NotFound',
    });
  });

  test('long or non-ASCII transactions run in a separate program', async () => {
    // Each program has its own namespace here, so the session does not see the table.
    const nft = open(INSIDE);
    await nft.run(`add table ip x\n${'add table ip x\n'.repeat(2000)}`);
    await nft.run('add table ip x\n# é\n');
    expect(await failure(nft.run('delete table ip x\n'))).toMatchObject({ reason: 'NotFound' });
  });

  test('the program is restarted after it has ended', async () => {
    const nft = open(INSIDE);
    await nft.run('add table ip x\n');
    await nft.close();
    await nft.run('add table ip x\n');
  });
});

test.each([
  ['is not there', ['/nonexistent/program'], 'NotInstalled'],
  ['ends at once', ['sh', '-c', 'echo no such mode >&2; exit 1', '--'], 'Other'],
])(
  'a program that %s: the transaction is run in the other way, once',
  async (_, prefix, reason) => {
    expect(await failure(open(prefix).run('add table ip x\n'))).toMatchObject({ reason });
  },
);

test('a program that ends in the middle leaves the outcome unknown', async () => {
  const script =
    'if [ "$2" = -i ]; then read -r a; read -r b; printf "Error: x\\n%s\\n^\\n" "$b" >&2; ' +
    'read -r c; exit 0; else exit 7; fi';
  const nft = open(['sh', '-c', script, '--']);
  expect(String(await failure(nft.run('add table ip x\n')))).toContain(
    'whether the last transaction was applied is unknown: it',
  );
  // The next program behaves in the same way.
  expect(String(await failure(nft.run('add table ip x\n')))).toContain('is unknown');
});
