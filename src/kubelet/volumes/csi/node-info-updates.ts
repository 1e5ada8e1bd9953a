// Decides when drivers are asked for their node information again: the number of volumes that a node
// can have may change (nodeAllocatableUpdatePeriodSeconds of a CSIDriver).

export class NodeInfoUpdates {
  /** By driver: when it was last asked, in milliseconds. */
  readonly #askedAt = new Map<string, number>();

  /**
   * Returns the drivers to ask now, and counts them as asked. `periods`: the registered drivers with
   * their periods in seconds; 0: the driver is not asked. A driver that is new is asked after its
   * first period, since its registration has asked it already.
   */
  due(periods: ReadonlyMap<string, number>, nowMs: number): readonly string[] {
    for (const driver of this.#askedAt.keys())
      if ((periods.get(driver) ?? 0) === 0) this.#askedAt.delete(driver);
    const due: string[] = [];
    for (const [driver, seconds] of periods) {
      if (seconds === 0) continue;
      const askedAt = this.#askedAt.get(driver);
      if (askedAt !== undefined && nowMs - askedAt < seconds * 1000) continue;
      if (askedAt !== undefined) due.push(driver);
      this.#askedAt.set(driver, nowMs);
    }
    return due;
  }
}
