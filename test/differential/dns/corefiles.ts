// Corefiles that both servers read, each with the questions that tell what is special about it.
//
// {$BIND}, {$DIR}, {$KUBECONFIG}, {$OUTSIDE} and {$STUB} are variables of the environment: the server's
// own address, the folder of the Corefile, the cluster, and two name servers outside of it.

import type { Question } from './questions.ts';

export interface CorefileCase {
  readonly name: string;
  readonly text: string;
  /** More files, in the folder of the Corefile. */
  readonly files?: Readonly<Record<string, string>>;
  readonly questions: readonly Question[];
}

export const PORT = 5391;

const ask = (names: readonly string[], types: readonly string[]): readonly Question[] =>
  names.flatMap((name) => types.map((type) => ({ name, type })));

const LOCAL_NAMES = [
  'web.shop.svc.cluster.local',
  'missing.shop.svc.cluster.local',
  'alias-outside.shop.svc.cluster.local',
  '1-2-3-4.shop.pod.cluster.local',
  'shop.pod.cluster.local',
  'pod.cluster.local',
  'x.pod.cluster.local',
  'web.shop.svc.second.local',
  'missing.shop.svc.second.local',
  'cluster.local',
  'second.local',
  'local',
];

const REVERSE_NAMES = [
  '1.1.96.10.in-addr.arpa',
  '9.9.96.10.in-addr.arpa',
  '10.0.244.10.in-addr.arpa',
  '10.in-addr.arpa',
  '96.10.in-addr.arpa',
  '4.3.2.1.in-addr.arpa',
  '80.2.0.192.in-addr.arpa',
  'in-addr.arpa',
  '3.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.0.d.f.ip6.arpa',
];

const OUTSIDE_NAMES = [
  'www.example.test',
  'none.example.test',
  'www.acme.test',
  'host.acme.test',
  'deep.er.acme.test',
  'registry.example.test',
  'other.test',
  'host.internal',
  'HOST.internal',
  'six.internal',
  'nothing.internal',
  '',
];

const EVERYTHING: readonly Question[] = [
  ...ask(LOCAL_NAMES, ['A', 'AAAA', 'SRV', 'MX', 'SOA']),
  ...ask(REVERSE_NAMES, ['PTR', 'A', 'SOA']),
  ...ask(OUTSIDE_NAMES, ['A', 'AAAA', 'MX']),
];

/** Means the same as the ConfigMap `cluster-dns` of the comparison. */
export const CONFIG_MAP_COREFILE = `.:${PORT} {
    bind {$BIND}
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       kubeconfig {$KUBECONFIG}
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 5
    }
    forward . {$OUTSIDE} {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    loadbalance
}
`;

export const COREFILES: readonly CorefileCase[] = [
  {
    name: 'kubeadm',
    text: `.:${PORT} {
    bind {$BIND}
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       kubeconfig {$KUBECONFIG}
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    forward . {$OUTSIDE} {
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
`,
    questions: EVERYTHING,
  },
  {
    name: 'stub domains',
    text: `.:${PORT} {
    bind {$BIND}
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       kubeconfig {$KUBECONFIG}
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
    }
    forward . {$OUTSIDE}
}
acme.test:${PORT} {
    bind {$BIND}
    forward . {$STUB}
}
deep.er.acme.test:${PORT}, other.test:${PORT} {
    bind {$BIND}
    hosts {
        192.0.2.7 deep.er.acme.test
        fallthrough other.test
    }
}
`,
    questions: EVERYTHING,
  },
  {
    name: 'no fallthrough, no pods, two domains, a range of addresses',
    text: `.:${PORT} {
    bind {$BIND}
    kubernetes cluster.local second.local 10.96.0.0/16 {
       kubeconfig {$KUBECONFIG}
    }
    forward . {$OUTSIDE} {
       except other.test internal
       prefer_udp
       policy sequential
    }
}
`,
    questions: EVERYTHING,
  },
  {
    name: 'fallthrough of all, hosts and imports',
    text: `(shared) {
    bind {$BIND}
    errors
}
.:${PORT} {
    import shared
    hosts "{$DIR}/names here" {
        192.0.2.80 www.example.test
        ttl 60
        fallthrough
    }
    kubernetes cluster.local {
       kubeconfig {$KUBECONFIG}
       fallthrough
       ttl 0
    }
    import more/*.override
}
import more/*.server
`,
    files: {
      'names here':
        '# a comment\n192.0.2.9 host.internal host # more\nfd00::9 six.internal host.internal\n',
      'more/b.override': '    forward example.test {$OUTSIDE}\n    forward . {$STUB}\n',
      'more/a.override': '    cache 7\n',
      'more/z.server': `internal.test:${PORT} {\n    import shared\n    forward . {$STUB}\n}\n`,
    },
    questions: [
      ...EVERYTHING,
      ...ask(['host', 'x.internal.test', '9.2.0.192.in-addr.arpa'], ['A', 'PTR']),
    ],
  },
  {
    name: 'hosts without fallthrough',
    text: `.:${PORT} {
    bind {$BIND}
    hosts {$DIR}/hosts internal example.test {
        192.0.2.80 www.example.test
        no_reverse
    }
    kubernetes cluster.local {
       kubeconfig {$KUBECONFIG}
    }
}
`,
    files: { hosts: '192.0.2.9 host.internal www.acme.test\n' },
    questions: EVERYTHING,
  },
  {
    name: 'one zone only',
    text: `cluster.local:${PORT} {
    bind {$BIND}
    kubernetes {
       kubeconfig {$KUBECONFIG}
       pods disabled
    }
}
`,
    questions: EVERYTHING,
  },
  {
    name: 'a forwarder without a cluster or braces',
    text: `.:${PORT}
bind {$BIND}
forward example.test {$OUTSIDE}
cache {
    success 100 60 10
    denial 100 3 1
    servfail 1s
}
`,
    questions: EVERYTHING,
  },
];
