// The part of discovery that APIServices determine, as a value that is replaced when it changes.
// Almost all APIServices are those that this server created for its own groups, and change nothing.

import type { AggregatedGroups, Priority } from '../../discovery/aggregated-groups.ts';
import { apiServices as apiServiceType } from '#api/groups/apiregistration/v1/index.ts';
import { type APIService, type ApiServices, groupVersionOf, isRemote } from '../api-services.ts';
import { builtInPriority, localPriority } from '../registration/priorities.ts';
import type { RemoteDiscovery } from './remote-discovery.ts';

export class GroupsView {
  readonly #apiServices: ApiServices;
  readonly #discovery: Pick<RemoteDiscovery, 'entry'>;
  #current: AggregatedGroups | undefined;
  /**
   * The APIServices of all built-in groups have been created, so a missing one has been deleted by
   * a user.
   */
  #registered = false;

  constructor(apiServices: ApiServices, discovery: Pick<RemoteDiscovery, 'entry'>) {
    this.#apiServices = apiServices;
    this.#discovery = discovery;
    apiServices.onChange((name, now, before) => {
      if (
        !samePriority(this.#priorityOf(name, now), this.#priorityOf(name, before)) ||
        remote(now) ||
        remote(before)
      ) {
        this.invalidate();
      }
    });
  }

  get current(): AggregatedGroups {
    this.#current ??= this.#make();
    return this.#current;
  }

  invalidate(): void {
    this.#current = undefined;
  }

  registered(complete: boolean): void {
    this.#registered = complete;
    this.invalidate();
  }

  #make(): AggregatedGroups {
    const remotes = Array.from(this.#apiServices.allRemote(), ({ metadata, spec }) => ({
      ...groupVersionOf(metadata.name),
      priority: { group: spec.groupPriorityMinimum, version: spec.versionPriority },
      entry: this.#discovery.entry(metadata.name),
    }));
    return {
      remote: remotes,
      registeredPriority: (group, version) => {
        const name = `${version}.${group}`;
        return this.#priorityOf(name, this.#apiServices.get(name));
      },
      localPriority,
    };
  }

  #priorityOf(name: string, service: APIService | undefined): Priority | undefined {
    const { group, version } = groupVersionOf(name);
    if (service !== undefined)
      return { group: service.spec.groupPriorityMinimum, version: service.spec.versionPriority };
    const builtIn = builtInPriority(group, version);
    return builtIn !== undefined && this.#registered && group !== apiServiceType.group
      ? undefined
      : localPriority(group, version);
  }
}

function remote(service: APIService | undefined): boolean {
  return service !== undefined && isRemote(service);
}

function samePriority(a: Priority | undefined, b: Priority | undefined): boolean {
  return a?.group === b?.group && a?.version === b?.version;
}
