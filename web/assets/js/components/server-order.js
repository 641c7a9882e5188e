// The order of a list that the service sorts: kept in the address, and part of each request.

/** @import { Order } from "./table.js" */

/**
 * @param {URLSearchParams} query the address, with `sort` and `order` @param {Record<string, string>} fields the field of the
 *   service for each column that can be sorted by @param {Order} usual the order without a wish
 */
export function serverOrder(query, fields, usual) {
  const column = Object.keys(fields).find((id) => fields[id] === query.get("sort"));
  let order = column ? { by: column, isDescending: query.get("order") === "desc" } : usual;
  const isUsual = () => order.by === usual.by && Boolean(order.isDescending) === Boolean(usual.isDescending);
  /** For the address and the request alike; nothing in the usual order. @returns {{sort?: string, order?: string}} */
  const parameters = () =>
    isUsual() ? {} : { sort: fields[order.by], order: order.isDescending ? "desc" : "asc" };
  return {
    get: () => order,
    set: (/** @type {Order} */ next) => {
      order = next;
    },
    parameters,
  };
}
