// The nodes of a CSI driver: where its volumes can be, and which of them this instance cares for.

import { type Node, nodes, type PersistentVolume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type CSINode, csiNodes } from '#api/groups/storage/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import type { ControllerBuilder } from '../builder.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import { type Segments, segmentsOf } from './topology.ts';

export class DriverNodes {
  readonly #driver: string;
  readonly #nodeName: string | undefined;
  readonly #nodes: SharedInformer<Immutable<Node>>;
  readonly #csiNodes: SharedInformer<Immutable<CSINode>>;

  constructor(builder: ControllerBuilder, { driver, nodeName }: CsiControllerConfig) {
    this.#driver = driver;
    this.#nodeName = nodeName;
    this.#nodes = builder.informerFor(nodes);
    this.#csiNodes = builder.informerFor(csiNodes);
  }

  /** The names of the nodes with the driver, sorted. */
  get names(): readonly string[] {
    return this.#csiNodes.lister
      .list()
      .filter(({ spec }) => spec.drivers?.some(({ name }) => name === this.#driver))
      .map(({ metadata }) => metadata.name)
      .toSorted();
  }

  /** The segments of all nodes with the driver. */
  get allSegments(): readonly Segments[] {
    return this.names
      .map((name) => this.segments(name))
      .filter((segments) => segments !== undefined);
  }

  /** Returns the segments of a node; undefined if the driver is not registered there. */
  segments(nodeName: string): Segments | undefined {
    return segmentsOf(
      this.#driver,
      this.#csiNodes.lister.get('', nodeName),
      this.#nodes.lister.get('', nodeName),
    );
  }

  /** Reports whether this instance cares for the volume. */
  hasVolume(volume: Immutable<PersistentVolume>): boolean {
    if (volume.spec.csi?.driver !== this.#driver) return false;
    return this.#nodeName === undefined || this.#isAt(volume, this.#nodeName);
  }

  /** Returns the first node, by name, that the volume is accessible from. */
  nodeOf(volume: Immutable<PersistentVolume>): string | undefined {
    if (volume.spec.csi?.driver !== this.#driver) return undefined;
    return this.names.find((name) => this.#isAt(volume, name));
  }

  #isAt({ spec }: Immutable<PersistentVolume>, nodeName: string): boolean {
    const segments = this.segments(nodeName);
    const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    return (
      segments !== undefined &&
      terms.some(({ matchExpressions = [] }) =>
        matchExpressions.every(({ key, values = [] }) => values.includes(segments[key] ?? '')),
      )
    );
  }
}
