// The view of aggregated API servers that discovery needs. The aggregator implements it.

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
  /** The discovery entry of the version. Undefined: it has not been read yet. */
  readonly entry: APIVersionDiscovery | undefined;
}

/** An immutable state, under which derived values can be cached. */
export interface AggregatedGroups {
  readonly remote: readonly RemoteVersion[];
  /**
   * Returns the priority of a group version of this server, from its APIService. Undefined: a user
   * has deleted the APIService.
   */
  readonly registeredPriority: (group: string, version: string) => Priority | undefined;
  /**
   * Returns the priority of a group version of this server: the built-in priority, or that of
   * definitions.
   */
  readonly localPriority: (group: string, version: string) => Priority;
}
