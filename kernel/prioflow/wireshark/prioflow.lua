-- SPDX-License-Identifier: GPL-2.0
-- prioflow's level frames (docs/protocol.md) in Wireshark and tshark:
--     tshark -X lua_script:prioflow.lua -r capture.pcap
-- or in Wireshark's folder of personal Lua plug-ins (Help > About > Folders).

local OPCODE, OUI, FORMAT, SIZE = 0xfffe, 0x02544a, 1, 46
local MAX_LEVEL, MAX_LIFETIME_MS = 15, 1000

local prioflow = Proto("prioflow", "Teiji level frame")
local f = prioflow.fields
f.opcode = ProtoField.uint16("prioflow.opcode", "MAC control opcode", base.HEX)
f.oui = ProtoField.uint24("prioflow.oui", "Extension of", base.HEX)
f.format = ProtoField.uint8("prioflow.format", "Format")
f.level = ProtoField.uint8("prioflow.level", "Highest level to pause, plus one")
f.version = ProtoField.uint8("prioflow.version", "Version (0: 1)")
f.mask = ProtoField.uint16("prioflow.mask", "Levels to pause", base.HEX)
f.lifetime = ProtoField.uint16("prioflow.lifetime_ms", "For (ms)")
f.instance = ProtoField.uint32("prioflow.instance", "Instance", base.HEX)
f.sequence = ProtoField.uint32("prioflow.sequence", "Sequence")
f.obeys = ProtoField.uint8("prioflow.obeys", "Obeys requests to pause levels below")
f.ignores = ProtoField.bool("prioflow.ignores", "Its pause-storm watchdog ignores requests", 8, nil, 1)
f.ring = ProtoField.uint16("prioflow.ring", "Its headroom covers frames in rings")
f.reaction = ProtoField.uint32("prioflow.reaction", "Its headroom covers microseconds")
f.acked_instance = ProtoField.uint32("prioflow.acked_instance", "Has received: instance", base.HEX)
f.acked_sequence = ProtoField.uint32("prioflow.acked_sequence", "Has received: sequence")
local malformed = ProtoExpert.new("prioflow.malformed", "Malformed: it is not obeyed",
    expert.group.MALFORMED, expert.severity.ERROR)
prioflow.experts = { malformed }

local ethertypes = DissectorTable.get("ethertype")
local mac_control = ethertypes:get_dissector(0x8808)
local data = Dissector.get("data")

local function is_ours(buffer)
    return buffer:len() >= 5 and buffer(0, 2):uint() == OPCODE and buffer(2, 3):uint() == OUI
end

-- The highest level of a mask, plus one.
local function top(mask)
    local level = 0
    while mask > 0 do
        level, mask = level + 1, math.floor(mask / 2)
    end
    return level
end

-- The levels to pause: version 1 names the highest one, and means all below, too.
local function mask_of(buffer)
    if buffer(7, 1):uint() >= 2 then return buffer(10, 2):uint() end
    return 2 ^ buffer(6, 1):uint() - 1
end

-- A mask in words: "0-3, 5".
local function levels(mask)
    local ranges, level = {}, 0
    while mask > 0 do
        if mask % 2 == 1 then
            local first = level
            while math.floor(mask / 2) % 2 == 1 do
                level, mask = level + 1, math.floor(mask / 2)
            end
            ranges[#ranges + 1] = first == level and tostring(first) or first .. "-" .. level
        end
        level, mask = level + 1, math.floor(mask / 2)
    end
    return table.concat(ranges, ", ")
end

-- Why it is not obeyed, or nil.
local function fault(buffer)
    if buffer:len() < SIZE then return "shorter than " .. SIZE .. " octets" end
    if buffer(5, 1):uint() ~= FORMAT then return "of another format" end
    local level, lifetime_ms = buffer(6, 1):uint(), buffer(8, 2):uint()
    if level > MAX_LEVEL then return "levels end at " .. MAX_LEVEL end
    if lifetime_ms > MAX_LIFETIME_MS then return "lifetimes end at " .. MAX_LIFETIME_MS .. " ms" end
    if (level == 0) ~= (lifetime_ms == 0) then return "a level above 0, and only that, has a lifetime" end
    if top(mask_of(buffer)) ~= level then return "the mask is not of its level" end
end

function prioflow.dissector(buffer, pinfo, tree)
    if not is_ours(buffer) then
        if pinfo.match_uint == 0x8808 and mac_control then return mac_control:call(buffer, pinfo, tree) end
        return data:call(buffer, pinfo, tree)
    end
    pinfo.cols.protocol = "PRIOFLOW"
    local part = tree:add(prioflow, buffer(0, math.min(buffer:len(), SIZE)))
    part:add(f.opcode, buffer(0, 2))
    part:add(f.oui, buffer(2, 3))
    if buffer:len() >= 20 then
        part:add(f.format, buffer(5, 1))
        part:add(f.level, buffer(6, 1))
        part:add(f.version, buffer(7, 1))
        part:add(f.lifetime, buffer(8, 2))
        if buffer(7, 1):uint() >= 2 then part:add(f.mask, buffer(10, 2)) end
        part:add(f.instance, buffer(12, 4))
        part:add(f.sequence, buffer(16, 4))
    end
    if buffer:len() >= 32 and buffer(7, 1):uint() >= 2 then
        part:add(f.obeys, buffer(20, 1))
        part:add(f.ignores, buffer(21, 1))
        part:add(f.acked_instance, buffer(24, 4))
        part:add(f.acked_sequence, buffer(28, 4))
        part:add(f.ring, buffer(22, 2))
        if buffer:len() >= 36 then part:add(f.reaction, buffer(32, 4)) end
    end
    local why = fault(buffer)
    if why then
        part:add_proto_expert_info(malformed, "Not obeyed: " .. why)
        pinfo.cols.info = "Level frame, malformed: " .. why
    elseif buffer(6, 1):uint() == 0 then
        pinfo.cols.info = "Send all"
    else
        pinfo.cols.info = "Pause levels " .. levels(mask_of(buffer)) ..
            " for " .. buffer(8, 2):uint() .. " ms"
    end
end

ethertypes:add(0x8808, prioflow)
ethertypes:add(0x88b5, prioflow)
