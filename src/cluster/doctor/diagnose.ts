// Decides what a machine lacks for which feature, and how to get it. Pure.

import type { MachineFacts, ModuleName, PortFact } from './facts.ts';

/**
 * - ok;
 * - missing: the feature does not work;
 * - limited: it works, with a limit that the text names;
 * - unknown.
 */
export type FindingState = 'ok' | 'missing' | 'limited' | 'unknown';

export interface Finding {
  readonly state: FindingState;
  readonly text: string;
  /** Commands that repair it on this machine. Empty: there is none. */
  readonly repair: readonly string[];
}

export interface Feature {
  readonly name: string;
  /** The worst of the findings. */
  readonly state: FindingState;
  readonly findings: readonly Finding[];
}

type Distribution = Exclude<MachineFacts['distribution'], 'other'>;
const DISTRIBUTIONS: readonly Distribution[] = ['debian', 'fedora', 'alpine'];

/** By what is missing: the packages that have it. */
const PACKAGES: Readonly<Record<string, Readonly<Record<Distribution, string>>>> = {
  containerd: { debian: 'containerd', fedora: 'containerd', alpine: 'containerd containerd-ctr' },
  runc: { debian: 'runc', fedora: 'runc', alpine: 'runc' },
  'CNI plugins': {
    debian: 'containernetworking-plugins',
    fedora: 'containernetworking-plugins',
    alpine: 'cni-plugins',
  },
  busybox: { debian: 'busybox-static', fedora: 'busybox', alpine: 'busybox-static' },
  nft: { debian: 'nftables', fedora: 'nftables', alpine: 'nftables' },
  conntrack: { debian: 'conntrack', fedora: 'conntrack-tools', alpine: 'conntrack-tools' },
  ip: { debian: 'iproute2', fedora: 'iproute', alpine: 'iproute2' },
  modprobe: { debian: 'kmod', fedora: 'kmod', alpine: 'kmod' },
  kubectl: { debian: 'kubernetes-client', fedora: 'kubernetes-client', alpine: 'kubectl' },
  sctp: {
    debian: 'linux-image-$(dpkg --print-architecture)',
    fedora: 'kernel-modules-extra',
    alpine: 'linux-lts',
  },
};

const INSTALL: Readonly<Record<Distribution, string>> = {
  debian: 'apt-get install -y',
  fedora: 'dnf install -y',
  alpine: 'apk add',
};

const WANTED_CONTROLLERS = ['cpu', 'memory', 'pids'];
const WATCHES = 65_536;
const INSTANCES = 512;
const OPEN_FILES = 65_536;
const FREE_DISK = 2 * 2 ** 30;
const FREE_MEMORY = 512 * 2 ** 20;

/** Returns the features in the order in which a user meets them. */
export function diagnose(facts: MachineFacts): readonly Feature[] {
  return [
    feature('any cluster', [
      disk(facts),
      memory(facts),
      openFiles(facts),
      ...ports(facts, (use) => !isIngress(use)),
    ]),
    feature('real containers (--runtime containerd)', [
      ...containers(facts),
      cgroups(facts),
      inotify(facts),
    ]),
    feature('services and network policies', network(facts)),
    feature('pods on several machines', [
      module(facts, 'vxlan', 'machines on other links cannot be reached (--pod-network vxlan)'),
      program(facts, 'ip', 'pods of other machines cannot be reached'),
    ]),
    feature('Ingresses and Gateways (--ingress)', ports(facts, isIngress)),
    feature('SCTP', [
      module(facts, 'sctp', 'services and host ports of SCTP do not work', 'limited'),
    ]),
    feature('the command line', [
      program(facts, 'kubectl', 'it is not needed to run a cluster, but to use one', 'limited'),
    ]),
  ];
}

const isIngress = (use: PortFact['use']): boolean => use.startsWith('Ingresses');

const RANK: readonly FindingState[] = ['missing', 'limited', 'unknown', 'ok'];

function feature(name: string, findings: readonly Finding[]): Feature {
  const worst = RANK.find((state) => findings.some((finding) => finding.state === state));
  return { name, state: worst ?? 'ok', findings };
}

const ok = (text: string): Finding => ({ state: 'ok', text, repair: [] });

/** Returns the install commands for packages: of this distribution, or of all if it is none of them. */
function install(facts: MachineFacts, ...wanted: readonly string[]): readonly string[] {
  const { distribution } = facts;
  const of = distribution === 'other' ? DISTRIBUTIONS : [distribution];
  return of.map((each) => {
    const packages = wanted.flatMap((name) => PACKAGES[name]?.[each] ?? []);
    return `${INSTALL[each]} ${packages.join(' ')}`;
  });
}

function containers(facts: MachineFacts): readonly Finding[] {
  const { platform, root, missingTools, overlayWorks } = facts;
  if (platform !== 'linux')
    return [
      {
        state: 'missing',
        text: 'containerd needs Linux; --runtime simulated works here',
        repair: [],
      },
    ];
  const missing = missingTools.map((name): Finding => ({
    state: 'missing',
    text: `${name} not installed`,
    repair: install(facts, name),
  }));
  const overlay: Finding =
    overlayWorks === true
      ? ok('overlayfs works')
      : overlayWorks === false
        ? {
            state: 'limited',
            text: 'overlayfs does not work in the data directory: each container copies its image',
            repair:
              facts.modules.overlay === 'available'
                ? ['modprobe overlay']
                : ['choose a --data-dir on ext4 or xfs'],
          }
        : module(facts, 'overlay', 'each container copies its image', 'limited');
  return [
    root
      ? ok('root')
      : {
          state: 'missing',
          text: 'not root: pods run as host processes (--runtime process) or are simulated',
          repair: ['sudo cox up'],
        },
    ...(missing.length === 0 ? [ok('containerd, runc, CNI plugins and busybox')] : missing),
    overlay,
  ];
}

function network(facts: MachineFacts): readonly Finding[] {
  const { nftObstacle, programs } = facts;
  const nft: Finding =
    nftObstacle === undefined
      ? ok('nftables can be programmed')
      : {
          state: 'limited',
          text:
            `nftables cannot be programmed (${nftObstacle}): ` +
            'services go through userspace, network policies are not enforced',
          repair: programs.nft
            ? facts.modules.nf_tables === 'available'
              ? ['modprobe nf_tables']
              : []
            : install(facts, 'nft'),
        };
  return [
    nft,
    program(
      facts,
      'conntrack',
      'flows of UDP to endpoints that are gone stay until they time out',
      'limited',
    ),
    module(
      facts,
      'br_netfilter',
      'pods of one node see the node as the source of connections through services, ' +
        'and policies do not apply between them',
      'limited',
    ),
  ];
}

function program(
  facts: MachineFacts,
  name: keyof MachineFacts['programs'],
  consequence: string,
  state: FindingState = 'missing',
): Finding {
  if (facts.programs[name]) return ok(name);
  return { state, text: `${name} not installed: ${consequence}`, repair: install(facts, name) };
}

function module(
  { modules, ...facts }: MachineFacts,
  name: ModuleName,
  consequence: string,
  state: FindingState = 'missing',
): Finding {
  switch (modules[name]) {
    case 'loaded':
      return ok(`kernel module ${name}`);
    case 'available':
      return ok(`kernel module ${name}, loaded when it is needed`);
    case 'unknown':
      return {
        state: 'unknown',
        text: `kernel module ${name} not loaded, and it is not known whether it can be`,
        repair: [`modprobe ${name}`],
      };
    case 'missing': {
      const packages = name in PACKAGES ? install({ modules, ...facts }, name) : [];
      return { state, text: `the kernel has no ${name}: ${consequence}`, repair: packages };
    }
  }
}

function cgroups({ cgroups: { version, controllers }, distribution }: MachineFacts): Finding {
  if (version === undefined)
    return {
      state: 'missing',
      text: 'no cgroups are mounted: containers have no limits and no statistics',
      repair:
        distribution === 'alpine'
          ? ['rc-update add cgroups && rc-service cgroups start']
          : ['mount -t cgroup2 none /sys/fs/cgroup'],
    };
  const missing = WANTED_CONTROLLERS.filter((name) => !controllers.includes(name));
  if (missing.length === 0) return ok(`cgroups version ${version}`);
  return {
    state: 'limited',
    text: `cgroups version ${version} without the controllers ${missing.join(', ')}: those limits do not apply`,
    repair:
      version === 2
        ? [
            `echo '${missing.map((name) => `+${name}`).join(' ')}' > /sys/fs/cgroup/cgroup.subtree_control`,
          ]
        : [],
  };
}

function inotify({ inotify: { watches, instances } }: MachineFacts): Finding {
  if (watches === undefined || instances === undefined)
    return { state: 'unknown', text: 'limits of inotify are not known', repair: [] };
  const repair = [
    ...(watches < WATCHES ? [`sysctl -w fs.inotify.max_user_watches=${WATCHES * 8}`] : []),
    ...(instances < INSTANCES ? [`sysctl -w fs.inotify.max_user_instances=${INSTANCES}`] : []),
  ];
  if (repair.length === 0) return ok(`inotify: ${watches} watches, ${instances} instances`);
  return {
    state: 'limited',
    text:
      `inotify allows ${watches} watches and ${instances} instances: ` +
      'programs in many pods may fail with "too many open files"',
    repair,
  };
}

function openFiles({ openFiles: limit }: MachineFacts): Finding {
  if (limit === undefined)
    return { state: 'unknown', text: 'the limit of open files is not known', repair: [] };
  if (limit >= OPEN_FILES) return ok(`${limit} open files`);
  return {
    state: 'limited',
    text: `${limit} open files: thousands of watches or nodes need more`,
    repair: [`ulimit -n ${OPEN_FILES}`],
  };
}

function disk({ disk: space }: MachineFacts): Finding {
  if (space === undefined)
    return { state: 'unknown', text: 'free disk space is not known', repair: [] };
  const free = `${(space.freeBytes / 2 ** 30).toFixed(1)} GiB are free for ${space.dir}`;
  if (space.freeBytes >= FREE_DISK) return ok(free);
  return {
    state: space.freeBytes < FREE_DISK / 8 ? 'missing' : 'limited',
    text: `${free}: images and the store need more`,
    repair: ['choose a --data-dir on a larger disk'],
  };
}

function memory({ memoryAvailableBytes: available }: MachineFacts): Finding {
  const free = `${Math.round(available / 2 ** 20)} MiB of memory are available`;
  if (available >= FREE_MEMORY) return ok(free);
  return { state: 'limited', text: `${free}: a cluster takes about 200, pods more`, repair: [] };
}

/** The consequences for a component whose port is taken, and how another port is chosen. */
const WITHOUT_PORT: Readonly<
  Record<PortFact['use'], { readonly consequence: string; readonly repair: readonly string[] }>
> = {
  'API server': { consequence: 'choose another', repair: ['cox up --secure-port 0'] },
  kubelet: { consequence: 'the kubelet takes another', repair: [] },
  Ingresses: {
    consequence: 'choose another',
    repair: ['cox up --ingress --ingress-http-port 8080'],
  },
  'Ingresses with TLS': {
    consequence: 'choose another',
    repair: ['cox up --ingress --ingress-https-port 8443'],
  },
};

function ports(
  { ports: facts, running }: MachineFacts,
  wanted: (use: PortFact['use']) => boolean,
): readonly Finding[] {
  if (running) return [ok('ports are those of the cluster that runs on this data directory')];
  return facts
    .filter(({ use }) => wanted(use))
    .map(({ port, use, address, obstacle }): Finding => {
      if (obstacle === undefined) return ok(`port ${port} (${use})`);
      const { consequence, repair } = WITHOUT_PORT[use];
      const text = `port ${port} of ${address} (${use}): ${obstacle}; ${consequence}`;
      return { state: 'limited', text, repair };
    });
}
