;(() => {
  const { createElement } = window.wp.element
  const { decodeEntities } = window.wp.htmlEntities
  const { title = '', description = '', supports = [] } = window.wc.wcSettings.getSetting('comptoir_data', {})
  const name = decodeEntities(title)
  const content = createElement(() => decodeEntities(description))
  window.wc.wcBlocksRegistry.registerPaymentMethod({
    name: 'comptoir',
    label: createElement('span', null, name),
    ariaLabel: name,
    content,
    edit: content,
    canMakePayment: () => true,
    supports: { features: supports },
  })
})()
