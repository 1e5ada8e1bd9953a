// The kernel's settings of connection tracking, as kube-proxy makes them: room for connections, and
// how long idle ones are kept.

import type { SettingFiles } from '#machinery/files/setting-files.ts';
import type { Logger } from '#machinery/log.ts';

export interface ConntrackSettings {
  /** Connections per processor core; 0: the kernel's limit is left alone. Default: 32768. */
  readonly maxPerCore?: number;
  /** The least number of connections. Default: 131072. */
  readonly min?: number;
  /** Seconds; 0: left alone. Default: 24 hours. */
  readonly tcpTimeoutEstablished?: number;
  /** Seconds; 0: left alone. Default: an hour. */
  readonly tcpTimeoutCloseWait?: number;
  /** Packets outside of the TCP window are accepted. Default: false, left alone. */
  readonly tcpBeLiberal?: boolean;
  /** Seconds; 0, the default: left alone. */
  readonly udpTimeout?: number;
  /** Seconds; 0, the default: left alone. */
  readonly udpTimeoutStream?: number;
}

const FOLDER = '/proc/sys/net/netfilter';
const HASH_SIZE = '/sys/module/nf_conntrack/parameters/hashsize';
/** More connections would take too much memory. */
const MAX_LIMIT = 1_048_576;

/** Returns the values by the names of the settings. Those that are left alone are missing. */
export function conntrackValues(
  {
    maxPerCore = 32_768,
    min = 131_072,
    tcpTimeoutEstablished = 86_400,
    tcpTimeoutCloseWait = 3600,
    tcpBeLiberal = false,
    udpTimeout = 0,
    udpTimeoutStream = 0,
  }: ConntrackSettings,
  cores: number,
): ReadonlyMap<string, number> {
  const scaled = maxPerCore * cores;
  const max = maxPerCore === 0 ? 0 : scaled > MAX_LIMIT ? MAX_LIMIT : Math.max(scaled, min);
  const values: readonly [string, number][] = [
    ['nf_conntrack_max', max],
    ['nf_conntrack_tcp_timeout_established', tcpTimeoutEstablished],
    ['nf_conntrack_tcp_timeout_close_wait', tcpTimeoutCloseWait],
    ['nf_conntrack_tcp_be_liberal', tcpBeLiberal ? 1 : 0],
    ['nf_conntrack_udp_timeout', udpTimeout],
    ['nf_conntrack_udp_timeout_stream', udpTimeoutStream],
  ];
  return new Map(values.filter(([, value]) => value > 0));
}

/** Writes the settings that differ. A setting that cannot be written is logged. */
export async function applyConntrackSettings(
  settings: ConntrackSettings,
  cores: number,
  files: SettingFiles,
  logger: Logger,
): Promise<void> {
  const values = conntrackValues(settings, cores);
  for (const [name, value] of values) {
    try {
      const path = `${FOLDER}/${name}`;
      if ((await files.read(path)) !== String(value)) await files.write(path, String(value));
    } catch (error) {
      logger.warn('proxy: conntrack setting not made', { setting: name, value, err: error });
    }
  }
  const buckets = Math.floor((values.get('nf_conntrack_max') ?? 0) / 4);
  try {
    if (buckets > 0 && Number(await files.read(HASH_SIZE)) < buckets)
      await files.write(HASH_SIZE, String(buckets));
  } catch (error) {
    logger.debug('proxy: size of the conntrack table not set', { buckets, err: error });
  }
}
