// Services and endpoints of every shape that has records of its own.

export const OBJECTS = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Service
metadata: { name: kube-dns, namespace: kube-system }
spec: { clusterIP: 10.96.0.10, ports: [{ name: dns, port: 53, protocol: UDP }, { name: dns-tcp, \
port: 53, protocol: TCP }, { name: metrics, port: 9153 }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.1.1, ports: [{ name: http, port: 80 }, { name: https, port: 443 }, { name: \
quic, port: 443, protocol: UDP }] }
---
apiVersion: v1
kind: Service
metadata: { name: one-port, namespace: shop }
spec: { clusterIP: 10.96.1.2, ports: [{ port: 8080 }] }
---
apiVersion: v1
kind: Service
metadata: { name: dual, namespace: shop }
spec: { ipFamilyPolicy: RequireDualStack, clusterIP: 10.96.1.3, clusterIPs: [10.96.1.3, \
"fd00:96::3"], ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: db, namespace: shop }
spec: { clusterIP: None, ports: [{ name: pg, port: 5432 }] }
---
apiVersion: v1
kind: Service
metadata: { name: db6, namespace: shop }
spec: { clusterIP: None, ipFamilies: [IPv6], ports: [{ name: pg, port: 5432 }] }
---
apiVersion: v1
kind: Service
metadata: { name: no-ports, namespace: shop }
spec: { clusterIP: None }
---
apiVersion: v1
kind: Service
metadata: { name: empty, namespace: shop }
spec: { clusterIP: None, ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: big, namespace: shop }
spec: { clusterIP: None, ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: alias, namespace: shop }
spec: { type: ExternalName, externalName: web.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-upper, namespace: shop }
spec: { type: ExternalName, externalName: dual.shop.svc.cluster.local. }
---
apiVersion: v1
kind: Service
metadata: { name: alias-two, namespace: shop }
spec: { type: ExternalName, externalName: alias.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-headless, namespace: shop }
spec: { type: ExternalName, externalName: db.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-missing, namespace: shop }
spec: { type: ExternalName, externalName: missing.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-self, namespace: shop }
spec: { type: ExternalName, externalName: alias-self.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-ring, namespace: shop }
spec: { type: ExternalName, externalName: alias-ring-2.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-ring-2, namespace: shop }
spec: { type: ExternalName, externalName: alias-ring.shop.svc.cluster.local }
---
apiVersion: v1
kind: Service
metadata: { name: alias-outside, namespace: shop }
spec: { type: ExternalName, externalName: www.example.test }
---
apiVersion: v1
kind: Service
metadata: { name: alias-address, namespace: shop }
spec: { type: ExternalName, externalName: 192.0.2.7 }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: 8080, protocol: TCP }, { name: https, port: 8443, protocol: TCP }]
endpoints: [{ addresses: [10.244.0.5], conditions: { ready: true } }, { addresses: [10.244.0.6], \
conditions: { ready: false } }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db-1, namespace: shop, labels: { kubernetes.io/service-name: db } }
addressType: IPv4
ports: [{ name: pg, port: 5432, protocol: TCP }]
endpoints:
- { addresses: [10.244.0.10], hostname: db-0, conditions: { ready: true } }
- { addresses: [10.244.0.11], hostname: db-1, conditions: { ready: true } }
- { addresses: [10.244.0.12], conditions: {} }
- { addresses: [10.244.0.13], hostname: db-3, conditions: { ready: false } }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: db6-1, namespace: shop, labels: { kubernetes.io/service-name: db6 } }
addressType: IPv6
ports: [{ name: pg, port: 5432, protocol: TCP }]
endpoints:
- { addresses: ["fd00:244::10"], hostname: db-0, conditions: { ready: true } }
- { addresses: ["fd00:244::"], conditions: { ready: true } }
- { addresses: ["fd00:244::1:2:3:4"], conditions: { ready: true } }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: no-ports-1, namespace: shop, labels: { kubernetes.io/service-name: no-ports } }
addressType: IPv4
ports: []
endpoints: [{ addresses: [10.244.0.20], hostname: lonely, conditions: { ready: true } }]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: big-1, namespace: shop, labels: { kubernetes.io/service-name: big } }
addressType: IPv4
ports: [{ name: http, port: 80, protocol: TCP }]
endpoints: [${Array.from(
  { length: 200 },
  (_, i) => `{ addresses: [10.244.9.${i + 1}], conditions: { ready: true } }`,
).join(', ')}]
`;
