// The pages by address. Each is loaded when it is first shown, except those that most visits begin
// with.

import { type ReactNode } from 'react';
import { lazyComponent } from '../parts/lazy-component.ts';
import { Route, Switch } from 'wouter';
import { namespaceOf, textOf } from '../data/server/routes.ts';
import { ListPage } from '../pages/list.tsx';
import { Overview } from '../pages/overview.tsx';
import { Empty } from '../parts/basics.tsx';

const ObjectPage = lazyComponent(async () => (await import('../pages/object.tsx')).ObjectPage);

const MapPage = lazyComponent(async () => (await import('../pages/tools/map.tsx')).MapPage);
const UsagePage = lazyComponent(async () => (await import('../pages/tools/usage.tsx')).UsagePage);
const WhoCanPage = lazyComponent(
  async () => (await import('../pages/tools/who-can.tsx')).WhoCanPage,
);
const TrafficPage = lazyComponent(
  async () => (await import('../pages/tools/traffic.tsx')).TrafficPage,
);
const SchedulerPage = lazyComponent(
  async () => (await import('../pages/tools/scheduler.tsx')).SchedulerPage,
);
const TimelinePage = lazyComponent(
  async () => (await import('../pages/tools/timeline.tsx')).TimelinePage,
);
const ApplyPage = lazyComponent(async () => (await import('../pages/tools/apply.tsx')).ApplyPage);
const ClockPage = lazyComponent(async () => (await import('../pages/tools/clock.tsx')).ClockPage);

export const Pages = (): ReactNode => (
  <Switch>
    <Route path="/">
      <Overview />
    </Route>
    <Route path="/list/:type/:filter?">
      {({ type, filter }) => (
        <ListPage key={type} typeName={textOf(type)} initialFilter={textOf(filter ?? '')} />
      )}
    </Route>
    <Route path="/object/:type/:namespace/:name/:tab?">
      {({ type, namespace, name, tab }) => (
        <ObjectPage
          key={`${type}/${namespace}/${name}`}
          typeName={textOf(type)}
          namespace={namespaceOf(textOf(namespace))}
          name={textOf(name)}
          tab={tab}
        />
      )}
    </Route>
    <Route path="/map">
      <MapPage />
    </Route>
    <Route path="/usage">
      <UsagePage />
    </Route>
    <Route path="/who-can">
      <WhoCanPage />
    </Route>
    <Route path="/traffic">
      <TrafficPage />
    </Route>
    <Route path="/scheduler">
      <SchedulerPage />
    </Route>
    <Route path="/timeline">
      <TimelinePage />
    </Route>
    <Route path="/apply">
      <ApplyPage />
    </Route>
    <Route path="/clock">
      <ClockPage />
    </Route>
    <Route>
      <h1 className="page-title">Not found</h1>
      <Empty>There is no such page.</Empty>
    </Route>
  </Switch>
);
