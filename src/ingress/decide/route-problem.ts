/**
 * The reason why a route is not accepted. `reason`: a reason of the Gateway API for the condition
 * Accepted.
 */
export class RouteProblem extends Error {
  readonly reason: 'UnsupportedValue' | 'IncompatibleFilters';

  constructor(reason: RouteProblem['reason'], message: string) {
    super(message);
    this.name = 'RouteProblem';
    this.reason = reason;
  }
}
