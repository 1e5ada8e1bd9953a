// The role `cox proxy`: the service proxy of this machine, beside any kubelet.

import { hostname } from 'node:os';
import { isIP } from 'node:net';
import { parseCidr } from '#machinery/net/ip.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { systemNft } from '#machinery/net/nft/index.ts';
import {
  type ConntrackSettings,
  type NodePortAddresses,
  PROXY_FAMILIES,
  ProxyMetrics,
  removeTable,
  runNodeProxy,
} from '#proxy/index.ts';
import { removeAnnouncements, runAnnouncer } from '#network/index.ts';
import { checkLoadBalancerPool } from '../flags/network-ranges.ts';
import { UserError } from '../user-error.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import { clientFor, type RoleConfig, type RunningRole, supervised } from './role.ts';
import { readKubeconfig } from '../flags/flag-files.ts';

const COMPONENT = 'kube-proxy';
/** Only one proxy of this role runs on a machine; the rules of `cox up` have other names. */
const TABLE = 'coxswain';
const KUBELET_PORT = 10_250;

export interface ProxyRoleConfig extends RoleConfig {
  readonly kubeconfig?: string;
  readonly hostnameOverride?: string;
  /** Ranges of pods, with commas between them. Absent: unknown, so that no traffic counts as from outside. */
  readonly clusterCidr?: string;
  readonly proxyMode: string;
  /** Default: 'primary'. */
  readonly nodeportAddresses?: readonly string[];
  /** Addresses of load balancers that this machine may announce on its links. Default: none. */
  readonly loadBalancerPool?: string;
  readonly masqueradeAll: boolean;
  readonly healthzBindAddress: string;
  readonly metricsBindAddress: string;
  readonly conntrackMaxPerCore?: number;
  readonly conntrackMin?: number;
  readonly conntrackTcpBeLiberal?: boolean;
  /** This and the following are in milliseconds. */
  readonly conntrackTcpTimeoutCloseWait?: number;
  readonly conntrackTcpTimeoutEstablished?: number;
  readonly conntrackUdpTimeout?: number;
  readonly conntrackUdpTimeoutStream?: number;
  /** Removes the rules and ends. */
  readonly cleanup: boolean;
}

function conntrackSettings(config: ProxyRoleConfig): ConntrackSettings {
  const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);
  const {
    conntrackMaxPerCore: maxPerCore,
    conntrackMin: min,
    conntrackTcpBeLiberal: tcpBeLiberal,
    conntrackTcpTimeoutCloseWait: closeWait,
    conntrackTcpTimeoutEstablished: established,
    conntrackUdpTimeout: udp,
    conntrackUdpTimeoutStream: stream,
  } = config;
  return {
    ...(maxPerCore !== undefined && { maxPerCore }),
    ...(min !== undefined && { min }),
    ...(tcpBeLiberal !== undefined && { tcpBeLiberal }),
    ...(closeWait !== undefined && { tcpTimeoutCloseWait: seconds(closeWait) }),
    ...(established !== undefined && { tcpTimeoutEstablished: seconds(established) }),
    ...(udp !== undefined && { udpTimeout: seconds(udp) }),
    ...(stream !== undefined && { udpTimeoutStream: seconds(stream) }),
  };
}

const MODES = ['auto', 'nftables', 'userspace'] as const;

/**
 * Starts the service proxy. Its rules stay when it stops. Rejects with UserError for a problem that
 * the user can solve.
 */
export async function startProxyRole(config: ProxyRoleConfig): Promise<RunningRole> {
  const { clock, random, logger } = config;
  if (config.cleanup) {
    await cleanUp(config).catch((error: unknown) => {
      throw new UserError(`the rules cannot be removed: ${(error as Error).message}`, {
        cause: error,
      });
    });
    const stop = (): Promise<void> => Promise.resolve();
    return {
      description: `rules removed: tables ${TABLE} of nftables`,
      failed: Promise.resolve(new CleanedUp()),
      stop,
    };
  }
  if (config.kubeconfig === undefined)
    throw new UserError(
      '--kubeconfig is needed: identity of the proxy, and address of the API server',
    );
  const mode = MODES.find((candidate) => candidate === config.proxyMode);
  if (mode === undefined) {
    throw new UserError(
      `unknown --proxy-mode ${JSON.stringify(config.proxyMode)}: it is ${MODES.join(', ')}. ` +
        'iptables and ipvs are not there',
    );
  }
  const nodeName = config.hostnameOverride ?? hostname().toLowerCase();
  if (isDNS1123Subdomain(nodeName).length > 0) {
    throw new UserError(
      `${JSON.stringify(nodeName)} is no name of a node: give another with --hostname-override`,
    );
  }
  const clusterCidrs = (config.clusterCidr ?? '').split(',').filter((cidr) => cidr !== '');
  for (const cidr of clusterCidrs) {
    if (parseCidr(cidr) === undefined)
      throw new UserError(`--cluster-cidr takes ranges, such as 10.244.0.0/16, not '${cidr}'`);
  }
  if (config.loadBalancerPool !== undefined)
    checkLoadBalancerPool(config.loadBalancerPool, clusterCidrs);
  const access = await readKubeconfig('--kubeconfig', config.kubeconfig);
  const client = clientFor(access, COMPONENT, config);
  const metrics = new ProxyMetrics({ clock, families: PROXY_FAMILIES });
  const healthz = parseAddress('--healthz-bind-address', config.healthzBindAddress);
  const status = parseAddress('--metrics-bind-address', config.metricsBindAddress);
  const version = versionInfo(KUBERNETES_VERSION.gitVersion);
  const settings = {
    mode,
    table: TABLE,
    clusterCidrs,
    nodePortAddresses: nodePortAddressesOf(config.nodeportAddresses ?? []),
    reservedPorts: [KUBELET_PORT, healthz?.port ?? 0, new URL(access.server).port || 443].map(
      (port) => `tcp/${port}`,
    ),
    masqueradeAll: config.masqueradeAll,
    conntrack: conntrackSettings(config),
    ...(healthz !== undefined && { healthz }),
    ...(status !== undefined && { status: { ...status, version } }),
  };
  const { loadBalancerPool: pool } = config;
  const running = supervised(COMPONENT, async (signal) => {
    const proxying = runNodeProxy(
      { client, nodeName, settings, metrics, clock, random, logger },
      signal,
    );
    const announcer = { client, nodeName, clock, random, logger };
    const announcing =
      pool === undefined
        ? undefined
        : runAnnouncer({ ...announcer, settings: { pool, id: TABLE } }, signal);
    await Promise.all([proxying, announcing]);
  });
  return {
    description: `${COMPONENT} of node ${nodeName}`,
    failed: running.failed,
    stop: () => running.stop(),
  };
}

async function cleanUp({ clock, logger }: ProxyRoleConfig): Promise<void> {
  await removeTable(systemNft(), TABLE);
  await removeAnnouncements(TABLE, clock, logger);
}

/** Ends the role after --cleanup. Not a failure. */
export class CleanedUp extends Error {
  override readonly name = 'CleanedUp';
}

/** Throws UserError. Upstream's default in this mode: the addresses of the Node object. */
function nodePortAddressesOf(texts: readonly string[]): NodePortAddresses {
  if (texts.length === 0 || (texts.length === 1 && texts[0] === 'primary')) return 'primary';
  for (const text of texts) {
    if (parseCidr(text) === undefined)
      throw new UserError(`--nodeport-addresses takes ranges, or 'primary' alone, not '${text}'`);
  }
  return texts;
}

/** Returns undefined for '', which switches the port off. Throws UserError. */
function parseAddress(
  flag: string,
  text: string,
): { readonly host: string; readonly port: number } | undefined {
  if (text === '') return undefined;
  const [, bracketed, plain = '', portText = ''] =
    /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (isIP(host) === 0 || Number(portText) > 65_535)
    throw new UserError(`${flag} takes ADDRESS:PORT, such as 127.0.0.1:10249, not '${text}'`);
  return { host, port: Number(portText) };
}
