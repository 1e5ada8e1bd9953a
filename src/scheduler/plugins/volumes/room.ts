// Remembers a lower bound for the number of volumes of a driver that a node can still attach. It
// changes with the node, its attachments and its drivers' limits, and one cycle changes one node.

import type { SnapshotReader } from '#scheduler/framework/snapshot.ts';
import type { NodeInfo } from '#scheduler/framework/node-info.ts';
import { layoutOf, type NodeAnswers, NodeMemo } from '#scheduler/framework/node-memo.ts';

/**
 * Returns the room; Infinity without a limit. The value may be too low, even negative, but never
 * too high.
 */
export type FindRoom = (node: NodeInfo, driver: string) => number;

interface Driver {
  readonly name: string;
  /** Undefined for a driver that few pods have used. */
  readonly known: NodeAnswers<number> | undefined;
}

export class VolumeRoom {
  readonly #snapshot: SnapshotReader;
  readonly #find: FindRoom;
  readonly #memo = new NodeMemo<number>(0);

  constructor(snapshot: SnapshotReader, find: FindRoom) {
    this.#snapshot = snapshot;
    this.#find = find;
  }

  /** Returns the room for one cycle. */
  of(drivers: ReadonlySet<string>): RoomOnNodes {
    const layout = layoutOf(this.#snapshot);
    return new RoomOnNodes(
      Array.from(drivers, (name) => ({ name, known: this.#memo.of(name, layout) })),
      this.#find,
    );
  }

  /** Drops the remembered values of a node that has not changed in the snapshot. */
  forget(node: string): void {
    const position = this.#snapshot.positionOf(node);
    if (position !== undefined) this.#memo.forget(position);
  }
}

/** The capacity of several drivers together. */
export class RoomOnNodes {
  readonly #drivers: readonly Driver[];
  readonly #find: FindRoom;

  constructor(drivers: readonly Driver[], find: FindRoom) {
    this.#drivers = drivers;
    this.#find = find;
  }

  /** Returns the room for the driver with the least. `position`: as in FilterPlugin.filter. */
  least(node: NodeInfo, position: number | undefined): number {
    let least = Infinity;
    for (const { name, known } of this.#drivers) {
      let room: number;
      if (position === undefined || known === undefined) room = this.#find(node, name);
      else if (known.has(position)) room = known.get(position);
      else known.set(position, (room = this.#find(node, name)));
      if (room < least) least = room;
    }
    return least;
  }
}
