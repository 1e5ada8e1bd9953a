// The facts about a machine that the diagnosis is made from. A value: read-facts.ts reads it, tests write it.

/**
 * - loaded: in the kernel; - available: modprobe finds it; - missing; - unknown: the kernel's modules cannot be
 * looked at.
 */
export type ModuleState = 'loaded' | 'available' | 'missing' | 'unknown';

export const MODULES = ['overlay', 'br_netfilter', 'nf_tables', 'vxlan', 'sctp'] as const;
export type ModuleName = (typeof MODULES)[number];

export interface PortFact {
  readonly port: number;
  readonly use: 'API server' | 'kubelet' | 'Ingresses' | 'Ingresses with TLS';
  readonly address: string;
  /** Why it cannot be listened on; undefined: it can. */
  readonly obstacle: string | undefined;
}

export interface MachineFacts {
  readonly platform: string;
  readonly root: boolean;
  readonly distribution: 'debian' | 'fedora' | 'alpine' | 'other';
  /** Missing programs of real containers, as `missingTools` names them. */
  readonly missingTools: readonly string[];
  /** By name: whether it is installed. */
  readonly programs: Readonly<Record<'nft' | 'conntrack' | 'ip' | 'kubectl' | 'modprobe', boolean>>;
  /** Why nftables cannot be programmed; undefined: it can. */
  readonly nftObstacle: string | undefined;
  /** Whether overlayfs works where containers would be. Undefined: not tried, that needs root. */
  readonly overlayWorks: boolean | undefined;
  readonly modules: Readonly<Record<ModuleName, ModuleState>>;
  readonly cgroups: {
    readonly version: 1 | 2 | undefined;
    readonly controllers: readonly string[];
  };
  /** Undefined: not known. */
  readonly inotify: {
    readonly watches: number | undefined;
    readonly instances: number | undefined;
  };
  readonly openFiles: number | undefined;
  readonly disk: { readonly dir: string; readonly freeBytes: number } | undefined;
  readonly memoryAvailableBytes: number;
  /** A cluster runs on the data directory: its ports are in use by itself. */
  readonly running: boolean;
  readonly ports: readonly PortFact[];
}
