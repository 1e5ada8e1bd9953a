// `startCluster`: a whole cluster for a test or an example. In memory, with simulated nodes,
// without a port unless asked.

import { systemClock, type VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom, systemRandom } from '#machinery/random.ts';
import { SERVER_COMPONENT, TEST_COMPONENT } from '#simulation/index.ts';
import { type AccessSettings, accessOf } from '../access/index.ts';
import { Cluster } from '../composition/cluster.ts';
import { ADMIN_USER } from '../credentials/admin-user.ts';
import type { KubeconfigEntry } from '../credentials/kubeconfig.ts';
import { Pki } from '../credentials/pki.ts';
import { ConsoleForks } from './console-forks.ts';
import type { EmbeddedCluster, StartClusterOptions, ForkableCluster } from './embedded-cluster.ts';
import {
  Awakening,
  type ClusterState,
  forkable,
  notForkable,
  type Incarnation,
  type Revive,
  WakingClock,
  watchNodeChanges,
} from './forks/index.ts';
import { embed } from './incarnation.ts';
import { defaultSeed } from './seeds.ts';
import { prepare, type Origin, type Setup } from './setup.ts';

export async function startCluster(
  options: StartClusterOptions & { readonly clock: 'virtual' },
): Promise<ForkableCluster>;
export async function startCluster(options?: StartClusterOptions): Promise<EmbeddedCluster>;
export async function startCluster(options: StartClusterOptions = {}): Promise<EmbeddedCluster> {
  const virtual = options.clock === 'virtual';
  const clock = virtual
    ? new WakingClock({
        start: options.startMs,
        lazy: options.heartbeats !== 'eager',
        sockets: options.port !== undefined || options.dnsPort !== undefined,
      })
    : systemClock;
  const seed = options.seed ?? (virtual ? defaultSeed() : undefined);
  const random = seed === undefined ? systemRandom : new SeededRandom(seed);
  if (options.console === true && options.port === undefined)
    throw new TypeError('`console` needs a `port`, such as 0');
  const pki = options.port === undefined ? undefined : await Pki.open({ clock, random });
  const logger = options.logger ?? silentLogger;
  const access =
    options.access === undefined ? undefined : await accessOf(options.access, { clock, logger });
  if (clock instanceof WakingClock && pki !== undefined)
    return openCluster(options, { clock, random, pki, access });
  const setup = prepare(options, { clock, random, pki, access });
  // Certificates take their time, but none of a virtual clock's.
  const cluster = await Cluster.make(setup.config);
  joinSimulation(setup, cluster);
  await setup.moving(cluster.begin());
  const admin = pki === undefined ? undefined : await adminKubeconfig(pki, cluster.url as string);
  const incarnation = embed(options, setup, cluster, admin);
  if (!(clock instanceof WakingClock)) return { ...incarnation.handle, ...notForkable('real') };
  if (options.dnsPort !== undefined) return { ...incarnation.handle, ...notForkable('port') };
  const revive: Revive = (state, own) => resume(options, access, state, own);
  return forkable({
    running: incarnation,
    clock,
    revive,
    firstRevision: setup.memory.freeze().revision,
  });
}

/**
 * Makes the cluster of a state on a clock that shows the time of the state. It begins when it is
 * needed.
 */
function resume(
  options: StartClusterOptions,
  access: AccessSettings | undefined,
  state: ClusterState,
  clock: WakingClock,
): Incarnation {
  const random = SeededRandom.fromState(state.random);
  const setup = prepare(options, { clock, random, pki: undefined, access, state });
  const awakening = new Awakening(clock, state.readOnlyAt, {
    beginServer: () => cluster.beginServer(),
    beginComponents: () => cluster.beginComponents(),
  });
  const cluster = Cluster.withoutPort({
    ...setup.config,
    resume: {
      beforeRequest: (method, path) => awakening.beforeRequest(method, path),
      stoppedNodes: state.stoppedNodes,
      ...(options.forks !== 'eager' && {
        sleepingNodes: {
          names: state.quietNodes,
          watch: (onChange, signal) => watchNodeChanges(setup.memory, onChange, signal),
        },
      }),
    },
  });
  joinSimulation(setup, cluster);
  if (state.readOnlyAt === undefined) clock.beforeMove = () => awakening.all();
  return embed(options, setup, cluster, undefined, awakening);
}

interface OpenOrigin extends Origin {
  readonly clock: WakingClock;
  readonly pki: Pki;
}

/**
 * Starts a cluster with a port and a virtual clock: a new one, or the copy of another one. A copy
 * runs at once, with a port of its own, because its clients come by that port at any time.
 */
async function openCluster(
  options: StartClusterOptions,
  origin: OpenOrigin,
): Promise<EmbeddedCluster<VirtualClock>> {
  const { clock, pki, access, state } = origin;
  const fork = async (): Promise<EmbeddedCluster<VirtualClock>> => {
    await clock.settle();
    const copied = incarnation.freeze();
    const own = new WakingClock({ start: copied.now, lazy: clock.lazy, sockets: true });
    return openCluster(
      { ...options, port: 0, ...(options.dnsPort !== undefined && { dnsPort: 0 }) },
      { clock: own, random: SeededRandom.fromState(copied.random), pki, access, state: copied },
    );
  };
  const forks = new ConsoleForks(fork);
  const setup = prepare(options, origin, (user) => forks.create(user));
  const cluster = await Cluster.make({
    ...setup.config,
    ...(state !== undefined && {
      resume: { beforeRequest: () => undefined, stoppedNodes: state.stoppedNodes },
    }),
  });
  joinSimulation(setup, cluster);
  await setup.moving(state === undefined ? cluster.begin() : beginAgain(cluster));
  const admin = await adminKubeconfig(pki, cluster.url as string);
  const incarnation = embed(options, setup, cluster, admin);
  const { handle } = incarnation;
  const stop = async (): Promise<void> => {
    await forks.stop();
    await handle.stop();
  };
  return { ...handle, clock, ...notForkable('port'), fork, stop };
}

async function beginAgain(cluster: Cluster): Promise<void> {
  try {
    await cluster.beginServer();
    await cluster.beginComponents();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** Makes the parts that are no components known to faults. */
function joinSimulation({ simulation }: Setup, cluster: Cluster): void {
  simulation.register(TEST_COMPONENT);
  simulation.register(SERVER_COMPONENT);
  simulation.useClient(cluster.client);
}

async function adminKubeconfig(pki: Pki, server: string): Promise<KubeconfigEntry> {
  const admin = await pki.sign({
    commonName: ADMIN_USER.name,
    organizations: ADMIN_USER.groups,
    usage: 'client',
  });
  return {
    name: 'coxswain',
    server,
    caCertificate: pki.caCertificate,
    clientCertificate: admin.cert,
    clientKey: admin.key,
  };
}
