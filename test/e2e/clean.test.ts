// Tests `cox down --clean` in a network namespace of its own: what it removes, and what it leaves.

import { createHash } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { findProgram, isRoot } from '#cluster/machine/install.ts';
import { coxArgs, named, run, temporaryDir } from './harness.ts';

const missing =
  process.platform !== 'linux' || !isRoot()
    ? 'needs Linux and root'
    : ['nft', 'ip', 'unshare'].find((program) => findProgram(program) === undefined);
const idOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 10);

describe.skipIf(missing !== undefined)(named('cox down --clean', missing), () => {
  const dir = temporaryDir();
  afterAll(() => dir.remove());

  const inNamespace = (script: string) =>
    run('unshare', ['--net', 'sh', '-e', '-c', script], { timeoutMs: 120_000 });
  const cox = `'${process.execPath}' ${coxArgs.map((arg) => `'${arg}'`).join(' ')}`;
  const clean = `${cox} down --clean --data-dir '${dir.path}'`;
  const state = `nft list tables; ip -o link | cut -d: -f2 | cut -d@ -f1
    ip -o address | tr -s ' ' | cut -d' ' -f2,4; ip route show proto 84`;

  test('removes the remains of its cluster and of killed clusters, says so, and leaves the rest alone', async () => {
    const own = idOf(dir.path);
    const dead = idOf('/nonexistent/cluster');
    const { stdout, stderr, status } = await inNamespace(`
      ip link add eth7 type bridge && ip link set eth7 up && ip address add 192.0.2.1/24 dev eth7
      for table in coxswain-${own} coxswain-pods-${own} coxswain-${dead} coxswain-${dead}-announced coxswain other; do
        nft add table inet $table
      done
      for link in cxs${own} cxs${dead} cox${dead}; do ip link add $link type bridge; ip link set $link up; done
      ip address add 10.9.9.9/32 dev cxs${dead}
      ip address add fd09::9/128 dev cxs${dead} nodad
      ip address add fd09::9/128 dev eth7 nodad
      ip route add 10.8.0.0/24 via 192.0.2.9 proto 84 metric 16777217
      ip route add 10.7.0.0/24 via 192.0.2.9 proto 84 metric 7
      ${clean}
      echo --- ; ${state} ; echo --- ; ${clean}`);
    expect(status, stderr).toBe(0);
    const [removed = '', left = '', again = ''] = stdout.split('---\n');
    expect(removed.trim().split('\n').sort()).toEqual(
      [
        `nftables table inet coxswain-${own}`,
        `nftables table inet coxswain-pods-${own}`,
        `nftables table inet coxswain-${dead}`,
        `nftables table inet coxswain-${dead}-announced`,
        `interface cxs${own}`,
        `interface cxs${dead} (10.9.9.9, fd09::9)`,
        `interface cox${dead}`,
        'address fd09::9 on eth7',
        'route to 10.8.0.0/24',
      ]
        .map((text) => `removed: ${text}`)
        .sort(),
    );
    expect(left).toContain('table inet coxswain\ntable inet other\n');
    expect(left).toContain('192.0.2.1/24');
    expect(left).toContain('10.7.0.0/24');
    for (const gone of [own, dead, '10.9.9.9', 'fd09::9', '10.8.0.0'])
      expect(left).not.toContain(gone);
    expect(again).toBe('nothing to clean\n');
  });

  test('unmounts what pods have below the data directory', async () => {
    const volumes = `'${dir.path}/kubelet/pods/uid/volumes'`;
    const { stdout, stderr, status } = await inNamespace(`
      mkdir -p ${volumes} && mount -t tmpfs tmpfs ${volumes}
      ${clean}
      echo --- ; grep -c '${dir.path}' /proc/mounts || true`);
    expect(status, stderr).toBe(0);
    expect(stdout).toBe('removed: 1 mounts of pods\n---\n0\n');
  });

  test('leaves the objects of a running cluster alone', async () => {
    const live = idOf('/nonexistent/live');
    const { stdout, status } = await inNamespace(`
      nft add table inet coxswain-${live}
      '${process.execPath}' -e 'setTimeout(() => {}, 60000)' /nonexistent/live/store >/dev/null 2>&1 &
      ${clean}
      kill $! && wait $! || true
      ${clean}`);
    expect(status).toBe(0);
    expect(stdout).toBe(`nothing to clean\nremoved: nftables table inet coxswain-${live}\n`);
  });
});
