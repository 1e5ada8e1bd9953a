import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryFiles } from '../../testing/memory-files.ts';
import { type Corefile, loadCorefile } from './corefile.ts';
import { CorefileError } from './tokens.ts';

let files: MemoryFiles;
let hostsProblems: string[];

beforeEach(() => {
  files = new MemoryFiles();
  hostsProblems = [];
});

function load(text: string, env: Record<string, string> = {}): Promise<Corefile> {
  files.texts.set('/etc/coredns/Corefile', text);
  return loadCorefile('/etc/coredns/Corefile', {
    files,
    env,
    onFile: () => undefined,
    onHosts: () => undefined,
    onHostsProblem: (file, line, problem) => void hostsProblems.push(`${file}:${line}: ${problem}`),
  });
}

async function blocks(text: string, env: Record<string, string> = {}) {
  return (await load(text, env)).configuration.blocks;
}

const KUBEADM = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
`;

test("kubeadm's Corefile", async () => {
  const { configuration, serving, reload } = await load(KUBEADM);
  expect(serving).toEqual({
    port: 53,
    health: { host: '', port: 8080, lameduckMs: 5000 },
    ready: { host: '', port: 8181 },
    prometheus: { host: '', port: 9153 },
    hasCluster: true,
  });
  expect(reload).toEqual({ intervalMs: 30_000, jitterMs: 15_000 });
  const except = [['cluster', 'local']];
  const limits = { entries: 9984, maxTtl: 30, minTtl: 5, except };
  const cache = { zones: [[]], success: limits, denial: limits, failureTtl: 5 };
  const reverse = [
    ['in-addr', 'arpa'],
    ['ip6', 'arpa'],
  ];
  expect(configuration.blocks).toEqual([
    {
      zone: [],
      rotates: true,
      logsQueries: false,
      cache,
      sources: [
        {
          kind: 'kubernetes',
          domains: [['cluster', 'local']],
          reverse,
          ttl: 30,
          pods: true,
          fallthrough: reverse,
        },
        {
          kind: 'forward',
          from: [],
          except: [],
          servers: 'node',
          cache,
          policy: 'random',
          maxConcurrent: 1000,
          tcp: false,
          maxFailures: 2,
          probeIntervalMs: 500,
          logsFailures: true,
        },
      ],
    },
  ]);
});

describe('server blocks', () => {
  test('the longest zone is first; zones of one block share its sources', async () => {
    const found = await blocks('. {\n log\n}\na.test, b.a.test:53 {\n forward . 192.0.2.1\n}\n');
    expect(found.map(({ zone }) => zone.join('.'))).toEqual(['b.a.test', 'a.test', '']);
    expect(found[0]?.sources).toBe(found[1]?.sources);
    expect(found[2]).toMatchObject({ logsQueries: true, sources: [] });
  });

  test('a file with one server needs no braces', async () => {
    expect(await blocks('example.test:1053\nforward . 192.0.2.1 [fd00::1]:5353\n')).toMatchObject([
      {
        zone: ['example', 'test'],
        sources: [
          {
            servers: [
              { address: '192.0.2.1', port: 53 },
              { address: 'fd00::1', port: 5353 },
            ],
          },
        ],
      },
    ]);
  });

  test('ranges of addresses are reverse zones', async () => {
    const found = await blocks('10.1.0.0/16 {\n forward . 192.0.2.1\n}\nfd00::/8 {\n log\n}\n');
    expect(found.map(({ zone }) => zone.join('.'))).toEqual(['1.10.in-addr.arpa', 'd.f.ip6.arpa']);
  });
});

describe('snippets, imports and variables', () => {
  test('are replaced by what they name', async () => {
    files.texts.set('/etc/coredns/more/b.conf', 'forward . {$SERVER}');
    files.texts.set('/etc/coredns/more/a.conf', 'bind {%ADDRESS%}');
    files.texts.set('/etc/coredns/more/c.txt', 'nonsense');
    const text = '(base) {\n log # not: {\n}\n. {\n import base\n import more/*.conf\n}\n';
    const { configuration, serving } = await load(text, {
      SERVER: '192.0.2.1:5353',
      ADDRESS: '127.0.0.1',
    });
    expect(serving.bind).toEqual(['127.0.0.1']);
    expect(configuration.blocks).toMatchObject([
      { logsQueries: true, sources: [{ servers: [{ address: '192.0.2.1', port: 5353 }] }] },
    ]);
  });

  test('a pattern may match nothing, a file may not be missing', async () => {
    await load('. {\n import none/*\n log\n}\n');
    await expect(load('. {\n import none\n}\n')).rejects.toThrow(
      '/etc/coredns/Corefile:2: there is no file /etc/coredns/none',
    );
  });

  test('a file that imports itself', async () => {
    await expect(load('import Corefile')).rejects.toThrow('more than 1000 imports');
  });

  test('an error in an imported file names that file', async () => {
    files.texts.set('/etc/coredns/more', '\nnonsense 1');
    await expect(load('. {\n import more\n}\n')).rejects.toThrow('/etc/coredns/more:2: ');
  });
});

test('hosts: inline lines and a file, of which unusable lines are left out', async () => {
  files.texts.set('/hosts', '192.0.2.1 a b # c\n\nfe80::1%lo0 d\n192.0.2.1 A.\n');
  const [block] = await blocks(
    '. {\n hosts /hosts test {\n  192.0.2.2 "e"\n  ttl 60\n  fallthrough\n }\n}\n',
  );
  const [source] = block?.sources ?? [];
  if (source?.kind !== 'hosts') throw new Error('no hosts');
  expect(source).toMatchObject({ zones: [['test']], ttl: 60, fallthrough: [[]] });
  expect([...source.hosts.addresses.keys()]).toEqual(['a.', 'b.', 'e.']);
  expect(hostsProblems).toEqual(['/hosts:3: "fe80::1%lo0" is not an IP address']);
});

test('forward: a file with name servers, and settings', async () => {
  files.texts.set('/resolv', 'nameserver 192.0.2.1\nsearch a\nnameserver 192.0.2.2\n');
  const [block] = await blocks(`. {
    forward a.test /resolv dns://192.0.2.3 {
      except b.a.test c.a.test
      force_tcp
      max_fails 0
      health_check 2s
      policy round_robin
    }
  }`);
  expect(block?.sources).toMatchObject([
    {
      from: ['a', 'test'],
      except: [
        ['b', 'a', 'test'],
        ['c', 'a', 'test'],
      ],
      servers: [{ address: '192.0.2.1' }, { address: '192.0.2.2' }, { address: '192.0.2.3' }],
      tcp: true,
      maxFailures: 0,
      probeIntervalMs: 2000,
      policy: 'round_robin',
      logsFailures: false,
    },
  ]);
});

test.each([
  ['', 1, 'there is no server block'],
  ['. {\n', 1, 'the server block has no }'],
  ['. {\n}\n}\n', 3, 'a zone was expected'],
  ['. {\n log "x\n}\n', 2, 'a quote has no end'],
  ['. {\n template IN A {\n }\n}\n', 2, 'the directive "template" is not supported'],
  ['. {\n constructor\n}\n', 2, 'the directive "constructor" is not supported'],
  ['. {\n log\n log\n}\n', 3, 'log is there twice'],
  ['. {\n log a.test\n}\n', 2, 'log: no argument is expected'],
  ['. {\n log {\n class error\n }\n}\n', 3, 'log: class is not supported'],
  ['a.test {\n}\nA.test. {\n}\n', 3, 'the zone A.test. is there twice'],
  ['. {\n}\na.test:5353 {\n}\n', 3, 'all server blocks must have one port: 53'],
  ['. {\n bind 127.0.0.1\n}\na.test {\n}\n', 4, 'the same addresses'],
  ['. {\n bind eth0\n}\n', 2, 'bind: eth0 is no address'],
  ['tls://. {\n}\n', 1, 'tls:// is not supported'],
  ['10.0.0.0/12 {\n}\n', 1, 'its prefix is no multiple of 8'],
  ['a..b {\n}\n', 1, '"a..b" is not a domain'],
  ['. {\n kubernetes in-addr.arpa\n}\n', 2, 'a zone that is no reverse zone is needed'],
  ['. {\n kubernetes a {\n pods verified\n }\n}\n', 3, 'pods verified is not supported'],
  ['. {\n kubernetes a {\n namespaces b\n }\n}\n', 3, 'namespaces is not supported'],
  ['. {\n kubernetes a {\n ttl 4000\n }\n}\n', 3, '4000 is no number from 0 to 3600'],
  ['. {\n hosts {\n 192.0.2.300 a\n }\n}\n', 3, '"192.0.2.300" is not an IP address'],
  ['. {\n hosts {\n 192.0.2.3\n }\n}\n', 3, 'there is no name after 192.0.2.3'],
  ['. {\n forward .\n}\n', 2, 'forward: FROM TO... is expected'],
  ['. {\n forward . tls://192.0.2.1\n}\n', 2, 'tls:// is not supported'],
  ['. {\n forward . /nothing\n}\n', 2, '/nothing is no address and no file'],
  ['. {\n forward . 192.0.2.1 {\n expire 10s\n }\n}\n', 3, 'expire is not supported'],
  ['. {\n forward . 192.0.2.1 {\n policy best\n }\n}\n', 3, 'policy: one of'],
  ['. {\n cache 30 {\n serve_stale\n }\n}\n', 3, 'serve_stale is not supported'],
  ['. {\n cache 30 {\n servfail 6m\n }\n}\n', 3, 'at most 5m'],
  ['. {\n cache 0\n}\n', 2, '0 is no number'],
  ['. {\n reload 1s\n}\n', 2, '1s is too short'],
  ['. {\n reload soon\n}\n', 2, 'soon is no duration'],
  ['. {\n loadbalance weighted\n}\n', 2, 'loadbalance weighted is not supported'],
  ['. {\n health 8080\n}\n', 2, '8080 is no address and port'],
  ['. {\n health\n}\na {\n health :8081\n}\n', 4, 'health is not the same'],
  ['(a) {\n log\n}\n(a) {\n}\n', 4, 'the snippet a is there twice'],
])('%j cannot be used: line %i, %s', async (text, line, problem) => {
  const error = await load(text).then(
    () => undefined,
    (error_: unknown) => error_,
  );
  expect(error).toBeInstanceOf(CorefileError);
  expect((error as Error).message).toContain(`/etc/coredns/Corefile:${line}: `);
  expect((error as Error).message).toContain(problem);
});
