// The order in which nodes are evaluated. Filtering stops when enough nodes are feasible, so the
// order alternates between zones to spread the feasible nodes.

import type { Node } from '../framework/objects.ts';

export class NodeTree {
  /** Zone → names of its nodes. It has no empty zones. */
  readonly #zones = new Map<string, Set<string>>();
  readonly #zoneOfNode = new Map<string, string>();
  #version = 0;

  /** Changes whenever the order changes. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#zoneOfNode.size;
  }

  /** Adds the node, or moves it if its zone has changed. */
  put(node: Node): void {
    const name = node.metadata.name;
    const zone = zoneOf(node);
    const present = this.#zoneOfNode.get(name);
    if (present === zone) return;
    if (present !== undefined) this.remove(name);
    let names = this.#zones.get(zone);
    if (names === undefined) {
      names = new Set();
      this.#zones.set(zone, names);
    }
    names.add(name);
    this.#zoneOfNode.set(name, zone);
    this.#version++;
  }

  remove(name: string): void {
    const zone = this.#zoneOfNode.get(name);
    if (zone === undefined) return;
    const names = this.#zones.get(zone);
    names?.delete(name);
    if (names?.size === 0) this.#zones.delete(zone);
    this.#zoneOfNode.delete(name);
    this.#version++;
  }

  list(): string[] {
    const order: string[] = [];
    let iterators = Array.from(this.#zones.values(), (names) => names.values());
    while (iterators.length > 0) {
      iterators = iterators.filter((names) => {
        const next = names.next();
        if (next.done) return false;
        order.push(next.value);
        return true;
      });
    }
    return order;
  }
}

/** Returns region and zone from the node's labels, including the deprecated names. */
function zoneOf(node: Node): string {
  const labels = node.metadata.labels ?? {};
  const region =
    labels['topology.kubernetes.io/region'] ??
    labels['failure-domain.beta.kubernetes.io/region'] ??
    '';
  const zone =
    labels['topology.kubernetes.io/zone'] ?? labels['failure-domain.beta.kubernetes.io/zone'] ?? '';
  return `${region}\0${zone}`;
}
