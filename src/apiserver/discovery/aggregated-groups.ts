// The interface of discovery to aggregated API servers. The aggregator implements it.

import type { APIVersionDiscovery } from '#api/groups/apidiscovery/v2/index.ts';

export interface Priority {
  readonly group: number;
  readonly version: number;
}

/** A group version that another API server serves. */
export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  readonly priority: Priority;
  /** What it serves. Undefined: that is not known yet. */
  readonly entry: APIVersionDiscovery | undefined;
}

/** One state, which never changes: what is derived from it can be kept with it. */
export interface AggregatedGroups {
  readonly remote: readonly RemoteVersion[];
  /** The priority of a group version of this server, as its APIService has it. Undefined: users have removed its APIService. */
  readonly registeredPriority: (group: string, version: string) => Priority | undefined;
  /** The priority of a group version of this server that is built in, or that of definitions. */
  readonly localPriority: (group: string, version: string) => Priority;
}
